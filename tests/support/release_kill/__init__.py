"""A provisioner that is stopped at a certain deed, and what becomes of its operation after that."""
