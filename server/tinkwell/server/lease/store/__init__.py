"""The SQL of leases."""
