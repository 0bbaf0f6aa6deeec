"""The driver that settles the resources of releases."""
