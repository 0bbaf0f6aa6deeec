"""Agents that fork each event of a charm of ops, however slow the fork server is to begin; a count says how many."""

from pathlib import Path

import pytest

from support.waiting import eventually
from tinkwell.provisioner.unit.script import Script
from tinkwell.provisioner.unit.warm.pool import Pool
from tinkwell.provisioner.unit.warm.server import Child

DEADLINE_SECONDS = 120.0


def wait_for_servers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have events wait for their fork server; returns a list that gets the number of each process that is forked."""
    forked: list[int] = []
    original = Pool.fork

    async def fork(pool: Pool, wanted: Script, digest: str, python: Path) -> Child | None:
        child = await original(pool, wanted, digest, python)
        if child is None and (starting := [place for place in pool._places.values() if place.is_starting]):
            await eventually(
                lambda: not any(place.is_starting for place in starting), deadline_seconds=DEADLINE_SECONDS
            )
            child = await original(pool, wanted, digest, python)
        if child is not None:
            forked.append(child.pid)
        return child

    monkeypatch.setattr(Pool, "fork", fork)
    return forked
