"""The pure rules of Tinkwell: no I/O, no clock, no randomness."""
