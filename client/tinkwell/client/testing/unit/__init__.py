"""Applications and units of the fake server, over the core's world."""
