"""All SQL of the server."""
