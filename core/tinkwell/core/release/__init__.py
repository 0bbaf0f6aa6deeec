"""The rules of releases: a release is a set of manifests, whose resources are container images that do the work."""
