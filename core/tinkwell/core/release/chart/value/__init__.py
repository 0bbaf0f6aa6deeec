"""The values of charts: what users give, what charts say, and what comes of both."""
