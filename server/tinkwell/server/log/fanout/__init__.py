"""Takes events from the reader to the watchers."""
