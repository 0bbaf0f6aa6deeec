"""The client of releases, their operations and resources, and charts."""
