"""The driver that brings workflows to completion."""
