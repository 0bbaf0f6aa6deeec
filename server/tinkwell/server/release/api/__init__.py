"""The gRPC edge of releases."""
