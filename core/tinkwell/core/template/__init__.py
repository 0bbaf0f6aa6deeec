"""Templates: reading, checking and rendering them."""
