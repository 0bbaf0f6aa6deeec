"""The rules of leases."""
