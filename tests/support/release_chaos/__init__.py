"""Releases of many resources while everything that brings them about is killed, seeded; then a judgement."""
