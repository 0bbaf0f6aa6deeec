"""The SQL of templates."""
