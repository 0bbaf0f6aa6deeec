"""The events of a release, the handlers that hear them, and the changes that handlers may make."""
