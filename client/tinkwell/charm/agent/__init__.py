"""An agent of one charm: it serves the units of an application under a lease, and calls the charm for their events."""
