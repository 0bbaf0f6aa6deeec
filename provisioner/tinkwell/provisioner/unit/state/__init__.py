"""The state that a charm of ops keeps in a file of its own, next to the state that the server keeps for it."""
