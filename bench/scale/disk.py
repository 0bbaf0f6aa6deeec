"""The size of tables on the disk, with their indexes and the values that PostgreSQL stores apart."""

from bench import cluster

_ALL = """
    SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
     WHERE relkind IN ('r', 'm') AND relnamespace = 'public'::regnamespace
"""
# The table of events has partitions; each is a table of its own.
_EVENTS = """
    SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint FROM pg_partition_tree('events') WHERE isleaf
"""


async def used(url: str) -> tuple[int, int]:
    """Return the bytes of all tables, and of the events among them."""
    total, events = await cluster.fetch_value(url, _ALL), await cluster.fetch_value(url, _EVENTS)
    assert isinstance(total, int)
    assert isinstance(events, int)
    return total, events
