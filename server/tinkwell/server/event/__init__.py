"""Published events and named positions."""
