"""Charts on this machine, without a server: what is wrong with them, in which order they install, what they render to."""
