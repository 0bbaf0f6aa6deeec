"""The events in the life of a release: their names, the order of their handlers, and their results."""
