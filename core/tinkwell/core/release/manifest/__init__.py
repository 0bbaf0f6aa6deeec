"""Manifests: the resources of a release, as written and with evaluated expressions."""
