"""The SQL of tasks: requested, granted to agents, ended, and kept for a while."""
