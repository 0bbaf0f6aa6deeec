"""asyncpg reading the table of events by itself, as fast as it can: one cursor, some thousand rows at a time.

read   url, events     replies with the seconds it took
"""

import time

import asyncpg

from bench import generator

_ROWS = 5_000
# As asyncpg decodes them: UUID and datetime objects, JSON as text.
_QUERY = """
    SELECT revision, id, resource_type, resource_id, parent_id, event_type, name, version, created_at, actor, data
      FROM events ORDER BY revision
"""


async def read(url: str, events: int) -> float:
    """Return the seconds that reading took. Raises `AssertionError` for another number of events."""
    connection = await asyncpg.connect(url)
    try:
        began = time.perf_counter()
        count = 0
        async with connection.transaction(readonly=True):
            cursor = await connection.cursor(_QUERY)
            while rows := await cursor.fetch(_ROWS):
                count += len(rows)
        took = time.perf_counter() - began
    finally:
        await connection.close()
    if count != events:
        raise AssertionError(f"{count} events were read, not {events}")
    return took


async def work(link: generator.Link) -> None:
    """Do what is asked."""
    while (asked := await link.receive()) is not None:
        link.reply(seconds=await read(asked["url"], asked["events"]))


if __name__ == "__main__":
    generator.run(work)
