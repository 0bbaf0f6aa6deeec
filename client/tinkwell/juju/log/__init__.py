"""The logs of units."""
