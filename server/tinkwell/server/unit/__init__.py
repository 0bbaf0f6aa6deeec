"""Applications, their units, and the events that units receive."""
