"""What requests do to workflows."""
