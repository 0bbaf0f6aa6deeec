"""What is said to resource images, and what they may answer."""
