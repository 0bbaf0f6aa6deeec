"""From the log to the watchers: reader, hub, subscribers."""
