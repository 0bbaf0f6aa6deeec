"""The SQL of tasks: asked for, granted to agents, ended, and kept for a while."""
