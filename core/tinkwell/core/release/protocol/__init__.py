"""The requests to resource images, and their answers."""
