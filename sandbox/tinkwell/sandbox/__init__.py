"""A limited child process: it runs a module of its caller on what strangers wrote.

`child` is the parent's side. Nothing is imported here, since the child must not load what only its parent needs.
"""
