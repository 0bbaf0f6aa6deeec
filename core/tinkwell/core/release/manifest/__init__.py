"""Manifests: what resources a release has, as it was written and with its expressions evaluated."""
