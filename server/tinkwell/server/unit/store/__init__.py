"""SQL of applications and their units."""
