"""Effects: what rules do, and the record of it."""
