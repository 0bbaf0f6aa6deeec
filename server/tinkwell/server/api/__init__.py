"""The gRPC edge: translates between protobuf and the service layer."""
