"""What is secret in documents and texts: how it is found, taken out, put back, masked, and compared unseen."""
