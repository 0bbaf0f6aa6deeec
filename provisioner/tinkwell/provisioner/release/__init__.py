"""Carries out the operations of releases: what a manifest asks for is prepared, and brought about call by call."""
