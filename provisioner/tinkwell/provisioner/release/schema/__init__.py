"""Checks configs against the schemas of images, in a limited child process that runs `core`'s `schema_child`."""
