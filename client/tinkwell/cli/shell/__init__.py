"""What all commands share: options, the connection, and output."""
