"""The embedded PostgreSQL, and the stack that `tinkwell dev` runs."""
