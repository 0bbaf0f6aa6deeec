"""Runs the units of charms (of scripts and of ops) that are placed on this machine."""
