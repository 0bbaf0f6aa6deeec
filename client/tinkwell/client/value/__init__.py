"""Between objects, JSON and protobuf."""
