"""What requests do to releases."""
