"""Releases: manifests that are brought about by operations, which provisioners carry out."""
