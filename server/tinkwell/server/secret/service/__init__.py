"""The services for other rooms that use secrets, and for `tinkwell secret`."""
