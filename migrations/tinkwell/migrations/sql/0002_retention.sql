-- What is being forgotten. A name is put in by the statement that moves oldest_revision on, before the partition is
-- detached, and leaves with the table itself: whatever was interrupted in between is known and taken up again.
CREATE TABLE event_discard (
    partition_name text PRIMARY KEY,
    discarded_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The one more that makes twenty million revisions ready ahead of the current partition. It is attached, not created
-- in place, since that would lock writers out. A downgrade leaves it where it is, and those that were added since.
DO $$
BEGIN
    IF (SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass) <= 10 THEN
        CREATE TABLE events_000010 (LIKE events INCLUDING ALL);
        ALTER TABLE events ATTACH PARTITION events_000010 FOR VALUES FROM (20000000) TO (22000000);
    END IF;
END $$;
