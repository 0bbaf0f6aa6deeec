"""The client of templates."""
