"""Files that commands read: JSON and YAML."""
