"""Releases, what changes them, and what their resources are like, for users of the client."""
