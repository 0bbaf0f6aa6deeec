"""What other rooms do with secrets, and what `tinkwell secret` does."""
