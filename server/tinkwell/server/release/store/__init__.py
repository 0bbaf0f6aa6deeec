"""The SQL of releases."""
