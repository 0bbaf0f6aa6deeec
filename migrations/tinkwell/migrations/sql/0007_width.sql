-- A log that nothing was ever written to gets its partitions anew: a million revisions each, twenty million ready ahead,
-- and each named by its first revision, so that the names of wider and narrower ones never meet. Elsewhere they stay as
-- they are, and those that retention adds from now on are narrower.
DO $$
DECLARE
    partition regclass;
BEGIN
    IF (SELECT is_called FROM events_revision) THEN
        RETURN;
    END IF;
    -- Who is to write its first event at this moment waits, and whoever has just done so is waited for.
    LOCK TABLE events IN ACCESS EXCLUSIVE MODE;
    IF (SELECT is_called FROM events_revision) OR EXISTS (SELECT FROM events) THEN
        RETURN;
    END IF;
    FOR partition IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'events'::regclass LOOP
        EXECUTE format('DROP TABLE %s', partition);
    END LOOP;
    FOR i IN 0..20 LOOP
        EXECUTE format('CREATE TABLE events_%s PARTITION OF events FOR VALUES FROM (%s) TO (%s)',
                       lpad((i * 1000000)::text, 12, '0'), i::bigint * 1000000, (i::bigint + 1) * 1000000);
    END LOOP;
END $$;
