"""The commands for charts that need a server."""
