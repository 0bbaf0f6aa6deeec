"""Carries out operations on releases: prepares a manifest, then calls the images of its resources."""
