"""The client of secrets."""
