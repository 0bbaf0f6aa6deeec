"""The SQL of agents: who holds units, what they are told beside their events, and what nothing needs any more."""
