"""What happened to releases in a run, written down, and whether it kept the promises that are made about releases."""
