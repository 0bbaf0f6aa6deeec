"""The command `status`, which shows a model."""
