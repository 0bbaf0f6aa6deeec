"""Hardware, for users of the client."""
