"""The gRPC edge of events."""
