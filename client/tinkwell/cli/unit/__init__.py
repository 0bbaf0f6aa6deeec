"""The commands for applications, their units, charms and namespaces."""
