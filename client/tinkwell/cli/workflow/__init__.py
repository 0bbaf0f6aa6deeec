"""`tinkwell workflow`."""
