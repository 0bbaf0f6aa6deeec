"""The SQL of hardware."""
