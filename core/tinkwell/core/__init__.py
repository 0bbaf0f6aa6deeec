"""The rules of Tinkwell, pure: no I/O, no clock, no randomness."""
