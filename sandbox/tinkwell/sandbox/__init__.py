"""A limited child process, which runs a module of the caller on untrusted input. `child` is the parent's side.

This module imports nothing, because the child must not load what only its parent needs.
"""
