"""The one reader of the log in each process."""
