"""Where actions run: the port, its two runtimes, and what both need."""
