"""The calls of operators about units."""
