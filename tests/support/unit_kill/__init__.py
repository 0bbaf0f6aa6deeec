"""An agent for units, its server, PostgreSQL and scripts, killed at each point of an event, and judged."""
