"""The `tinkwell` command."""
