"""What happened in a run, written down, and whether it kept the contract of the event log."""
