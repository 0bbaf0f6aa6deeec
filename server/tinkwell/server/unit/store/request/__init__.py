"""The rows of operators' requests: charms, applications, and their units, relations and storages."""
