"""Random requests, failures, lost leases and elections over PostgreSQL: no invariant is violated."""

import os

import pytest

from support.unit_delivery_storm import Storm
from support.unit_site import LEASE_SECONDS
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.lease.service.operations import LeaseService

COUNT = int(os.environ.get("TINKWELL_TEST_UNIT_STORMS", "2"))

REQUESTS = 60


@pytest.mark.parametrize("seed", range(COUNT))
async def test_no_invariant_is_violated_in_a_storm(server_url: str, seed: int) -> None:
    pool = engine.create(server_url, pool_size=6)
    database = Database(pool)
    try:
        storm = Storm(database, LeaseService(database, lease_seconds=LEASE_SECONDS, holders={}), seed=seed)
        assert await storm.run(requests=REQUESTS) == []
        assert (await storm.counts())["UNIT_EVENT_COMMITTED"] > 0
    finally:
        await pool.dispose()
