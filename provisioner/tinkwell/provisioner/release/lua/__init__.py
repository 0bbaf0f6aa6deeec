"""The scripts of charts."""
