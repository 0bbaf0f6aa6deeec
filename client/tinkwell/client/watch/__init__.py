"""Watches that heal themselves, and caches that follow them."""
