"""Leases, as the provisioner holds them."""
