"""The server as a process: its commands, its parts and their order."""
