-- The event log. What must hold, and why, is in docs/event-log.md.

CREATE SEQUENCE events_revision AS bigint CACHE 1;

-- Every reader of the log must know all kinds. These are domains, not constraints of the table: PostgreSQL keeps what a
-- domain checks, and reads a table's constraints anew for every statement, which is slow. No list has more than eight:
-- of a longer one it would make a hash table for every statement.
CREATE DOMAIN resource_type AS text CONSTRAINT resource_type_known
    CHECK (VALUE IN ('TEMPLATE', 'HARDWARE', 'WORKFLOW', 'ACTION', 'CUSTOM'));
CREATE DOMAIN event_type AS text CONSTRAINT event_type_known CHECK (
    VALUE IN ('CREATED', 'UPDATED', 'DELETED')
    OR VALUE IN ('ACTION_STARTED', 'ACTION_RETRYING', 'ACTION_SUCCEEDED', 'ACTION_FAILED', 'ACTION_TIMEOUT',
                 'ACTION_CANCELLED')
    OR VALUE IN ('WORKFLOW_STARTED', 'WORKFLOW_INPROGRESS', 'WORKFLOW_SUCCEEDED', 'WORKFLOW_FAILED', 'WORKFLOW_TIMEOUT',
                 'WORKFLOW_CANCELLED')
    OR VALUE IN ('HARDWARE_PHONE_HOME', 'CUSTOM')
);
-- No watcher could receive a larger event, nor anything after it. Resources that keep to their own limits do.
CREATE DOMAIN event_size AS integer CONSTRAINT events_size CHECK (VALUE <= 8388608);

-- Who is behind a change: whom the transaction says it acts for, or else the session's own user.
CREATE FUNCTION current_actor() RETURNS text
LANGUAGE sql STABLE
AS $$ SELECT coalesce(nullif(current_setting('tinkwell.actor', true), ''), session_user) $$;

CREATE TABLE events (
    -- Drawn by the default: INSERT has locked the table by then, so whoever drew a missing number holds that lock.
    revision      bigint NOT NULL DEFAULT nextval('events_revision'),
    id            uuid NOT NULL DEFAULT gen_random_uuid(),
    resource_type resource_type NOT NULL,
    resource_id   uuid,
    parent_id     uuid,
    event_type    event_type NOT NULL,
    name          text NOT NULL,
    version       bigint NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor         text NOT NULL DEFAULT current_actor(),
    data          json NOT NULL,
    -- Bytes of the data. Lets a page be bounded without fetching what it leaves out.
    size          event_size NOT NULL,
    PRIMARY KEY (revision)
) PARTITION BY RANGE (revision);
ALTER SEQUENCE events_revision OWNED BY events.revision;

-- One partition holds two million revisions; twenty million are ready ahead, because none left would fail writes.
DO $$
BEGIN
    FOR i IN 0..9 LOOP
        EXECUTE format('CREATE TABLE events_%s PARTITION OF events FOR VALUES FROM (%s) TO (%s)',
                       lpad(i::text, 6, '0'), i::bigint * 2000000, (i::bigint + 1) * 2000000);
    END LOOP;
END $$;

-- What revisions mean. history_id is renewed when the database turns out to be another one than it was: a restored,
-- copied or failed-over one. oldest_revision is the first one that has not been forgotten.
CREATE TABLE event_history (
    one             boolean PRIMARY KEY DEFAULT true CHECK (one),
    history_id      uuid NOT NULL DEFAULT gen_random_uuid(),
    oldest_revision bigint NOT NULL DEFAULT 1,
    identity        text NOT NULL
);

-- What no two logs that may differ have in common: cluster and timeline change with a restored backup and a failover,
-- the database with a copy inside the cluster, the table with a restored dump.
CREATE FUNCTION log_identity() RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT concat_ws('/', s.system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), d.oid,
                     'events'::regclass::oid)
      FROM pg_control_system() s, pg_database d WHERE d.datname = current_database()
$$;

INSERT INTO event_history (identity) VALUES (log_identity());

-- Returns the history, a new one if this database is not the one it was, or if `seen`, a revision of the history `known`,
-- lies beyond what was ever drawn. Of several servers that notice, only the first finds its history still in force.
CREATE FUNCTION current_history(seen bigint, known uuid) RETURNS TABLE (history_id uuid, oldest_revision bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    UPDATE event_history h
       SET history_id = gen_random_uuid(), identity = log_identity()
     WHERE h.identity <> log_identity()
        OR (h.history_id = known AND seen > (SELECT last_value FROM events_revision));
    RETURN QUERY SELECT h.history_id, h.oldest_revision FROM event_history h;
END $$;
REVOKE ALL ON FUNCTION current_history FROM PUBLIC;

-- Named positions of consumers that want them kept. The token grows with each claim and fences the former holder.
CREATE TABLE event_position (
    name       text PRIMARY KEY,
    revision   bigint NOT NULL DEFAULT 0,
    history_id uuid NOT NULL,
    token      bigint NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The doorbell. The table stays empty: only locks on it matter. A writer that gets ROW EXCLUSIVE knows that no reader
-- sleeps; a reader sleeps only while it holds SHARE. Whoever is refused must act: the writer notifies, the reader polls.
CREATE TABLE bell ();

-- The first revision that was drawn at or after a moment; the one after the last if there is none. Events are drawn in
-- the order of time but for the clock's small steps, so halving the range finds it in a few index probes.
CREATE FUNCTION first_revision_since(moment timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    low   bigint := (SELECT oldest_revision FROM event_history);
    high  bigint := coalesce((SELECT max(revision) FROM events), 0) + 1;
    probe record;
    half  bigint;
BEGIN
    WHILE low < high LOOP
        half := low + (high - low) / 2;
        SELECT e.revision, e.created_at INTO probe FROM events e
         WHERE e.revision >= half AND e.revision < high ORDER BY e.revision LIMIT 1;
        IF NOT FOUND OR probe.created_at >= moment THEN
            high := half;
        ELSE
            low := probe.revision + 1;
        END IF;
    END LOOP;
    RETURN low;
END $$;
