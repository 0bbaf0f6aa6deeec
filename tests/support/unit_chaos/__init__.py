"""Applications of units, all of which is killed: agents, scripts, servers, PostgreSQL; judged by the log alone."""
