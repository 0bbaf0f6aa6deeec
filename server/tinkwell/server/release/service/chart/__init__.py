"""Charts on the server: uploads, and the operations that they begin."""
