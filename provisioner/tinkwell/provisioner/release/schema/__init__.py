"""Configs checked against the schemas of images, in a limited child process, which runs `core`'s `schema_child`."""
