"""The schemas of the two classic designs: Tinkwell's, with a trigger in place of the bell."""

from bench import bell

CHANNEL = "classic"
_COLUMNS = """
    {0}.revision, {0}.id::text, {0}.resource_type, coalesce({0}.resource_id::text, '') AS resource_id,
    coalesce({0}.parent_id::text, '') AS parent_id, {0}.event_type, {0}.name, {0}.version,
    (extract(epoch FROM {0}.created_at) * 1000000)::bigint AS microseconds, {0}.actor, {0}.data::text AS data
"""
QUERY = f"SELECT {_COLUMNS.format('e')} FROM events e WHERE revision = $1"
PAYLOADS = {
    "row": f"(SELECT row_to_json(r)::text FROM (SELECT {_COLUMNS.format('NEW')}) AS r)",
    "id": "NEW.revision::text",
}


def statements(design: str) -> tuple[str, ...]:
    """Return what makes the design's schema out of Tinkwell's."""
    return (
        bell.WITHOUT,
        f"""
        CREATE FUNCTION notify_classic() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
        AS $$ BEGIN PERFORM pg_notify('{CHANNEL}', {PAYLOADS[design]}); RETURN NULL; END $$
        """,
        "CREATE TRIGGER events_classic AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION notify_classic()",
    )
