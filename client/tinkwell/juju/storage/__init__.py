"""Storage of units, as Juju has it."""
