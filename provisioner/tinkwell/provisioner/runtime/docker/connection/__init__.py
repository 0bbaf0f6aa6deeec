"""The way to an engine, whatever carries it."""
