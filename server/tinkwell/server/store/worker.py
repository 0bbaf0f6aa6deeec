"""Finds the machines that workers' addresses belong to."""

from collections.abc import Collection, Mapping

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.devices import Worker, WorkerKind

# PostgreSQL compares the addresses, so that it does not matter how either side writes them.
_RESOLVE = sqlalchemy.text("""
    SELECT 'MAC' AS kind, given.value, CAST(found.hardware_id AS text) AS hardware_id
      FROM unnest(CAST(:macs AS text[])) AS given (value)
      JOIN hardware_address found ON found.mac = CAST(given.value AS macaddr)
    UNION ALL
    SELECT 'IP', given.value, CAST(found.hardware_id AS text)
      FROM unnest(CAST(:ips AS text[])) AS given (value)
      JOIN hardware_address found ON found.ip = CAST(given.value AS inet)
    UNION ALL
    SELECT 'HARDWARE_ID', given.value, given.value
      FROM unnest(CAST(:ids AS text[])) AS given (value)
""")
# Nobody deletes a machine while a workflow is being created for it.
_KEEP = sqlalchemy.text("""
    SELECT CAST(id AS text) FROM hardware
     WHERE id = ANY(CAST(CAST(:ids AS text[]) AS uuid[])) AND deleted_at IS NULL
     ORDER BY id FOR SHARE
""")


async def resolve(connection: AsyncConnection, workers: Collection[Worker]) -> Mapping[Worker, str]:
    """Return the id of each worker's live hardware, which stays live until the transaction ends.

    A worker without live hardware is left out.
    """
    values = {
        name: [worker.value for worker in workers if worker.kind is kind]
        for name, kind in (("macs", WorkerKind.MAC), ("ips", WorkerKind.IP), ("ids", WorkerKind.HARDWARE_ID))
    }
    found = {
        Worker(WorkerKind(kind), value): hardware_id
        for kind, value, hardware_id in await connection.execute(_RESOLVE, values)
    }
    live = set((await connection.execute(_KEEP, {"ids": sorted(set(found.values()))})).scalars())
    return {worker: hardware_id for worker, hardware_id in found.items() if hardware_id in live}
