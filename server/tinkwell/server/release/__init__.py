"""Releases: provisioners carry out operations, which put manifests into effect."""
