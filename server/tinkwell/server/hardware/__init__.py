"""Hardware."""
