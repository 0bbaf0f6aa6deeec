"""The tools that a charm's scripts call, and what answers them."""
