"""What units have logged."""
