"""Workflows on machines while everything that brings them to completion is killed, seeded; then a judgement."""
