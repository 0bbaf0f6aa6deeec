"""The log that a process writes: its form, and how secrets are kept out of it."""
