"""`tinkwell release`."""
