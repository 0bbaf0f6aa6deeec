"""Generated from protos/tinkwell/api/tink: messages and service stubs."""
