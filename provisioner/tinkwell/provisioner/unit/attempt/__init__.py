"""One attempt at an event or a task, as the programs of a charm see it."""
