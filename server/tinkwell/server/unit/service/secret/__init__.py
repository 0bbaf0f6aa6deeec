"""Secrets of units, applications and users: what people ask for, what units read, and what their events leave."""
