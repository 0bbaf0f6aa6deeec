"""What people see of an operation while it goes on, and what came of it."""
