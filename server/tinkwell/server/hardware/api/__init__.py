"""The gRPC edge of hardware."""
