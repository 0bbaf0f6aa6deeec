"""What requests do to templates."""
