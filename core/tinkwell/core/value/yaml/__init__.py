"""YAML: read as JSON values that know their places, and written so that every reader understands it alike."""
