"""Watches over gRPC: the request, events as bytes, and the connections that carry them."""
