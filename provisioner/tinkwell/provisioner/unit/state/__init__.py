"""What a charm of ops keeps in a file of its own, beside what the server keeps for it."""
