"""What the owner of an operation is to do next, and how what it sees goes on by what comes of that."""
