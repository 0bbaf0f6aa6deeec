"""The SQL of applications and of what belongs to them."""
