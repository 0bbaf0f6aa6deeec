"""The event server."""
