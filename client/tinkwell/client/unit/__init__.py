"""Applications, units, what relates them, and the agents that run their events, for users of the client."""
