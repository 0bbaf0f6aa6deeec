"""One call of a resource's image: what it is given and may use, its run, and what its answer means."""
