"""The order in which things are done: what it follows from, and the plan that comes of it."""
