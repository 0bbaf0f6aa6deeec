"""What an operation would do, told before it is done: the document, how it is made, and what may be applied of it."""
