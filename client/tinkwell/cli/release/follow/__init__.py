"""Shows an operation to people while it runs, and its outcome."""
