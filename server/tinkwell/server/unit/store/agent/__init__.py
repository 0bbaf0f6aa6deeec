"""The SQL of agents: who holds units, calls besides those about events, and the deletion of unused rows."""
