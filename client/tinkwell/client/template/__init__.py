"""Templates, for users of the client."""
