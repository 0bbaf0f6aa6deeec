"""What the owner of an operation does next, and how its view changes with the results."""
