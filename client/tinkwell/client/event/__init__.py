"""Events, for users of the client."""
