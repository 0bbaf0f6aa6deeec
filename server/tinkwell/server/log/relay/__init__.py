"""The event log by way of a broker: one server publishes what it read, the others take it from there."""
