"""Commands that show all data of units, applications and machines."""
