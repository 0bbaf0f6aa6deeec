"""Jinja expressions in manifests and variables, evaluated in a limited child process.

`evaluate` is the provisioner's side. The other modules run in the child. Nothing is imported here, since neither
process may load modules of the other.
"""
