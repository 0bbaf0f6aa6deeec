"""One attempt at one event: what it is given, what its handlers share, and how they are called."""
