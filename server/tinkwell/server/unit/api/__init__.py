"""Applications, units and namespaces over gRPC."""
