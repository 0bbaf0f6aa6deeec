"""The calls of agents: they are granted events to run, and report the outcomes."""
