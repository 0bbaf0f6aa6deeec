"""What the gRPC edges of all resources share."""
