"""`tinkwell template`."""
