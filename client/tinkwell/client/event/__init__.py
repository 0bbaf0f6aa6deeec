"""The client of the log: watching and publishing events, and named positions."""
