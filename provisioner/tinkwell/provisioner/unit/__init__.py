"""Runs the units of scripts charms that are placed on this machine."""
