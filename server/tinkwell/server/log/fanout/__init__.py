"""From the reader to the watchers."""
