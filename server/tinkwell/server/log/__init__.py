"""The event log: reads events in order, sends them to watchers, and deletes them after a time."""
