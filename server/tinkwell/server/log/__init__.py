"""The event log: read in order, fanned out to watchers, kept for a time."""
