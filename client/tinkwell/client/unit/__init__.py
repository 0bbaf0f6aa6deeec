"""The clients of namespaces, applications, units, relations and secrets, and of the agents that run units' events."""
