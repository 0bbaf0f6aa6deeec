"""Units: applications made of them, and the events of their lives."""
