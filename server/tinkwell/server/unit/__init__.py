"""Applications, their units, and what these are told."""
