"""Machines that announce themselves."""
