"""The gRPC edge of templates."""
