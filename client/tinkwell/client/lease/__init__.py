"""Leases, for users of the client."""
