"""The provisioner and the agent as processes."""
