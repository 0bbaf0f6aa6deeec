"""The gRPC edge of workflows."""
