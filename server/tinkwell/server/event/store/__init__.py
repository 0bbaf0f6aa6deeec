"""The SQL of events."""
