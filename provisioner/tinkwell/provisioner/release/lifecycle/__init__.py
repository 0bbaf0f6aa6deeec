"""The life of a release as others hear it: events, the handlers that hear them, and what these may change."""
