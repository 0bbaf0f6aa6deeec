"""What operators ask for: charms, applications, their units, relations and storages, as rows."""
