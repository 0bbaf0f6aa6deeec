"""`tinkwell hardware`."""
