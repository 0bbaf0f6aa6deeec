"""Configs checked against the schemas of images, in a limited child process.

`check` is the provisioner's side, `child` what runs in the child. Nothing is imported here, since neither must load
what only the other needs.
"""
