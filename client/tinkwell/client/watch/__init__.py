"""Watches that reconnect by themselves, and caches that follow them."""
