"""Machines and their network interfaces."""
