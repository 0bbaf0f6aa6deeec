"""The client of leases, and the keeper that renews one."""
