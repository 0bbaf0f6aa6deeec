"""A log of many events, written in bulk: how they came into the table makes no difference to who reads them."""

import asyncio

from bench import cluster

_BATCH = 250_000
_CONNECTIONS = 2
_INSERT = """
    INSERT INTO events (resource_type, resource_id, event_type, name, version, data, size)
    SELECT 'HARDWARE', id, 'CREATED', 'hardware.created', 1, shape, octet_length(shape::text)
      FROM (SELECT machine.id, hardware_shape(machine) AS shape
              FROM generate_series(1, {count}) AS n,
                   jsonb_populate_record(NULL::hardware, jsonb_build_object(
                       'id', gen_random_uuid(), 'version', 1, 'created_at', now(), 'updated_at', now(),
                       'network', '{{}}'::jsonb,
                       'metadata', format('{{"state": "provisioning", "facility": {{"facility_code": "lab"}},
                                             "number": %s, "instance": {{"hostname": "node-%s",
                                             "operating_system": {{"slug": "debian_12"}}}}}}', n, n)::jsonb)) AS machine
           ) AS event
"""


async def fill(url: str, events: int) -> None:
    """Append so many events."""
    batches = [_BATCH] * (events // _BATCH) + ([events % _BATCH] if events % _BATCH else [])
    statements = [_INSERT.format(count=count) for count in batches]
    await asyncio.gather(*(cluster.execute(url, *statements[first::_CONNECTIONS]) for first in range(_CONNECTIONS)))
    await cluster.execute(url, "VACUUM ANALYZE events")
