"""The service that carries out requests about leases."""
