"""Connections to an engine: by a Unix socket, TCP, TLS or ssh."""
