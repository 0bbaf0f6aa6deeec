"""Converts between objects, JSON and protobuf messages."""
