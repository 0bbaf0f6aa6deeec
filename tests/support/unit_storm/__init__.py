"""Storms: random requests, commits, failures and losses over a world of units, judged by all invariants."""
