"""The calls of agents: what they are granted to run, and what they say of it."""
