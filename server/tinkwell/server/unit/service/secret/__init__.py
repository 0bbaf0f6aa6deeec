"""Secrets of units, applications and users: the calls of people, the reads of units, and the effects of events."""
