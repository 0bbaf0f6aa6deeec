"""Charts: the files that releases are made of, what they say, and what becomes of it together with values."""
