"""What is emitted in the life of a release: events by name, who hears them in which order, and what came of it."""
