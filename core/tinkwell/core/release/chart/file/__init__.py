"""The files of a chart, and the archive in which they are uploaded."""
