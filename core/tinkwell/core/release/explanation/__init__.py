"""Sentences about an operation: what it waits for, what runs, and what has failed."""
