"""Charms: their manifests, the package in which they are uploaded, and the configuration of their applications."""
