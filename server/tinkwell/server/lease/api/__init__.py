"""The gRPC edge of leases."""
