"""The log that a process writes: its form, and what never stands in it."""
