"""What a request does, in one transaction each."""
