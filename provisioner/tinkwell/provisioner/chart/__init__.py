"""Charts on this machine, without a server: what is wrong with them, their order, and what they render to."""
