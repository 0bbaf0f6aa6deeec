"""The edge for Tinkerbell's own tools: translates between the v0.5 protocol and the service layer."""
