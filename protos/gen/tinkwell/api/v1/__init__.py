"""Generated from protos/tinkwell/api/v1: messages and service stubs."""
