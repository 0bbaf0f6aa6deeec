"""One attempt at one event: its input, the objects that its handlers share, and the calls of the handlers."""
