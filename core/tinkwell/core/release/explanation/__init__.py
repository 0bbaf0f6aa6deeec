"""Why things are as they are in an operation, in sentences for people: what is waited for, what runs, what failed."""
