"""The agent, which runs what is meant for its machines."""
