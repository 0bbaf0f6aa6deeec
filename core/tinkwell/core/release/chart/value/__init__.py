"""The values of charts: those of users, those of charts, and the merged result."""
