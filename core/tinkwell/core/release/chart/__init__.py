"""Charts: the files that releases are made of, what they declare, and the result together with values."""
