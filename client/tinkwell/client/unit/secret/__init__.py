"""Secrets, for users of the client."""
