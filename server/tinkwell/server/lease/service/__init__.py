"""What requests do to leases."""
