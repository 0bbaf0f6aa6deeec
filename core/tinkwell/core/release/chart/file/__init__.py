"""What the files of a chart hold, and how they travel."""
