"""Charms of ops begin warm: where that is the same as a start, a process that has ops loaded is forked."""
