"""What all commands share: options, connection, output and errors."""
