"""What requests about units do."""
