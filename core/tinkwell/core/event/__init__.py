"""The events of the log: their form and kinds, their selection, and their retention."""
