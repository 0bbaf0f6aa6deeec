"""YAML: read as JSON values with their places, and written so that all readers agree on its meaning."""
