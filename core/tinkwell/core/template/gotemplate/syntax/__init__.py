"""From the text of a Go template to its syntax tree."""
