"""What serves all commands: options, connection, output and errors."""
