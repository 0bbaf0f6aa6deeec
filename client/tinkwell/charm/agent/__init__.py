"""An agent of one charm: it serves the units of an application under a lease, and has the charm handle their events."""
