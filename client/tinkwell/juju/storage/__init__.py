"""Commands for the storage of units."""
