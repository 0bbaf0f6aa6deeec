"""What `status` shows of a model."""
