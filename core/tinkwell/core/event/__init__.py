"""Events: what they are, their kinds, how they are selected, and how long they are kept."""
