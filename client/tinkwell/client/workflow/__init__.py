"""Workflows, their actions and their output, for users of the client."""
