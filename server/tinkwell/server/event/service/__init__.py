"""What requests do to events."""
