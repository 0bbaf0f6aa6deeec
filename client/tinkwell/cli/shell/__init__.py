"""What all commands share: options, the connection, output and failures."""
