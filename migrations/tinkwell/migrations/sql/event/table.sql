-- The event log. What must hold, and why, is in docs/explanation/event-log-design.md.

CREATE SEQUENCE events_revision AS bigint CACHE 1;

-- The kinds that every reader of the log must know. These are domains that `write_event` takes, and not constraints of
-- the table, since PostgreSQL reads a table's constraints anew for every statement. No list has more than eight members: of a longer one PostgreSQL makes a hash table for every
-- statement.
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

-- The next two are called by the defaults of `events`.

-- Who is behind a change: whom the transaction says it acts for, or else the session's own user.
CREATE FUNCTION current_actor() RETURNS text
LANGUAGE sql STABLE
RETURN coalesce(nullif(current_setting('tinkwell.actor', true), ''), session_user);

-- A UUID of version 8 (RFC 9562): random bits, as often as there is room for them, and then the microseconds since
-- 1970. The microsecond keeps apart the ids of sessions that were given the same seed, and 46 random bits those of the
-- same microsecond. Ids must be unique, and need not be secret: for a strong random number, PostgreSQL opens
-- /dev/urandom each time where it was built without OpenSSL. `lpad` puts all of it together in one step.
CREATE FUNCTION new_event_id(at timestamptz) RETURNS uuid
LANGUAGE sql
RETURN lpad(
    to_hex((date_part('epoch', at) * 1000000)::bigint), 32,
    -- The last 16 bits of a UUID's first half begin with the version, 8, and its second half with the variant, binary 10.
    to_hex(((random() * 70368744177663)::bigint << 16) | x'8000000000008000'::bigint)
)::uuid;

CREATE TABLE events (
    -- Drawn by the default: INSERT has locked the table by then, so whoever drew a missing number holds that lock.
    revision      bigint NOT NULL DEFAULT nextval('events_revision'),
    id            uuid NOT NULL DEFAULT new_event_id(clock_timestamp()),
    resource_type text NOT NULL,
    resource_id   uuid,
    parent_id     uuid,
    event_type    text NOT NULL,
    name          text NOT NULL,
    version       bigint NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor         text NOT NULL DEFAULT current_actor(),
    data          json NOT NULL,
    -- Bytes of the data. Lets a page be bounded without fetching what it leaves out.
    size          integer NOT NULL,
    PRIMARY KEY (revision)
) PARTITION BY RANGE (revision);
ALTER SEQUENCE events_revision OWNED BY events.revision;

-- One partition holds a million revisions, and is named by the first of them. The current one and twenty million
-- revisions ahead of it are ready, because none left would fail writes.
DO $$
BEGIN
    FOR i IN 0..20 LOOP
        EXECUTE format('CREATE TABLE events_%s PARTITION OF events FOR VALUES FROM (%s) TO (%s)',
                       lpad((i * 1000000)::text, 12, '0'), i::bigint * 1000000, (i::bigint + 1) * 1000000);
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
-- the database with a copy inside the cluster, the table with a restored dump. It stands here since the row below needs
-- it.
CREATE FUNCTION log_identity() RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT concat_ws('/', s.system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), d.oid,
                     'events'::regclass::oid)
      FROM pg_control_system() s, pg_database d WHERE d.datname = current_database()
$$;

INSERT INTO event_history (identity) VALUES (log_identity());

-- What is being forgotten. A name is put in by the statement that moves oldest_revision on, before the partition is
-- detached, and leaves with the table itself: whatever was interrupted in between is known and taken up again.
CREATE TABLE event_discard (
    partition_name text PRIMARY KEY,
    discarded_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Named positions of consumers that want them kept. The token grows with each claim and fences the former holder.
CREATE TABLE event_position (
    name       text PRIMARY KEY,
    revision   bigint NOT NULL DEFAULT 0,
    history_id uuid NOT NULL,
    token      bigint NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The doorbell: an empty table, of which only the locks matter, and a number.
CREATE TABLE bell ();

-- 1 while writers must ring. A sequence, for its value is read and set outside transactions; unlogged, for after a
-- crash nobody sleeps. It is set while SHARE on `bell` is held, and unset only by who gets ROW EXCLUSIVE on it: so it
-- is set as long as anybody sleeps.
CREATE UNLOGGED SEQUENCE bell_wanted MINVALUE 0 MAXVALUE 1 START 0;
SELECT setval('bell_wanted', 0);

-- The channel that rings use, which nobody else knows: whoever may connect may listen to any channel and notify on it.
-- Row security without a policy hides the name from all but the owner, whatever has been granted.
CREATE TABLE bell_secret (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    channel text NOT NULL
);
ALTER TABLE bell_secret ENABLE ROW LEVEL SECURITY;
INSERT INTO bell_secret (channel) VALUES ('tinkwell_' || replace(gen_random_uuid()::text, '-', ''));

REVOKE ALL ON FUNCTION current_actor, new_event_id, log_identity FROM PUBLIC;
