"""Replay of stored events to one client, beside bare asyncpg reading the same rows."""

from bench.replay.case import run

__all__ = ["run"]
