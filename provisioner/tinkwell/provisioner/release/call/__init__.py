"""One call of a resource's image: its input, its plugs, its container, and its answer."""
