"""Hostile input in bulk, by a seed, to everything that a server listens with, while an ordinary client asks, too."""
