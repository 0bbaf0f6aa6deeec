"""From the documents of an operation to what is to be done."""
