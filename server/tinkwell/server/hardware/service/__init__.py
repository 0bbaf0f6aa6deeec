"""What requests do to hardware."""
