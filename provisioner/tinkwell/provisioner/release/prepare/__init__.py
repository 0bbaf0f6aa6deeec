"""Prepares an operation: turns its documents into a manifest and a plan."""
