"""The SQL of sealed values."""
