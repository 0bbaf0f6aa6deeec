"""Jinja expressions in manifests and variables, evaluated in a limited child process.

`evaluate` is the provisioner's side. Everything else runs in the child, and nothing is imported here, since the two
must not load what only the other needs.
"""
