"""Secrets of users, and what is known of all others, as Juju has them."""
