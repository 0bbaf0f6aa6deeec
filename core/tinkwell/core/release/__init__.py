"""The rules of releases: manifests whose resources are images that settle them."""
