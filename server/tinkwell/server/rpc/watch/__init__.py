"""Watches over gRPC: the request, and events as bytes."""
