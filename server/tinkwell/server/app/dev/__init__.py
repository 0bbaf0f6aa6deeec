"""The embedded PostgreSQL and everything in one command."""
