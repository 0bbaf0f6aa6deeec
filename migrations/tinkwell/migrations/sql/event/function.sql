-- The event log's functions, and those that the triggers of all resources share. Functions are SECURITY DEFINER where
-- they write or read what no user may directly; they set a search_path of their own, and so do the functions they call.

-- Returns the history, a new one if this database is not the one it was, or if `seen`, a revision of the history
-- `known`, lies beyond what was ever drawn. Of several servers that notice, only the first finds its history still in
-- force.
CREATE OR REPLACE FUNCTION current_history(seen bigint, known uuid)
RETURNS TABLE (history_id uuid, oldest_revision bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    UPDATE event_history h
       SET history_id = gen_random_uuid(), identity = log_identity()
     WHERE h.identity <> log_identity()
        OR (h.history_id = known AND seen > (SELECT last_value FROM events_revision));
    RETURN QUERY SELECT h.history_id, h.oldest_revision FROM event_history h;
END $$;

-- Gives the log another history, if it has this one: somebody has seen what is no longer so.
CREATE OR REPLACE FUNCTION renew_history(known uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
    UPDATE event_history SET history_id = gen_random_uuid() WHERE history_id = known
$$;

-- The first revision that was drawn at or after a moment; the one after the last if there is none. Events are drawn in
-- the order of time but for the clock's small steps, so halving the range finds it in a few index probes.
CREATE OR REPLACE FUNCTION first_revision_since(moment timestamptz) RETURNS bigint
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

-- The doorbell's rules. What must hold, and why, is in docs/explanation/event-log-design.md.

-- Whether writers must ring: true while a reader may sleep, NULL after a crash of PostgreSQL, when nobody sleeps. To be
-- asked after the INSERT into events, whose lock on the log tells readers that somebody may have seen them awake.
CREATE OR REPLACE FUNCTION is_bell_wanted() RETURNS boolean
LANGUAGE sql
AS $$
    SELECT pg_sequence_last_value('bell_wanted') > 0
$$;

-- Tells sleeping readers of the event. What is too long for a notification is not told: they read it.
CREATE OR REPLACE FUNCTION ring_bell(event events) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    -- The actor, which may be any text, comes last; in none of the others is there such a character.
    payload text := concat_ws(
        E'\x1f', event.revision, event.id, event.resource_type, coalesce(event.resource_id::text, ''),
        coalesce(event.parent_id::text, ''), event.event_type, event.name, event.version,
        (date_part('epoch', event.created_at) * 1000000)::bigint, event.data, event.actor);
    -- PostgreSQL keeps so much of a block to itself.
    limit_bytes integer := current_setting('block_size')::integer - 192;
BEGIN
    IF octet_length(payload) >= limit_bytes THEN
        payload := '';
    END IF;
    PERFORM pg_notify((SELECT channel FROM bell_secret), payload);
END $$;

-- Tells a server where to listen.
CREATE OR REPLACE FUNCTION bell_channel() RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT channel FROM bell_secret
$$;

-- Whether anybody has written an event and not ended: INSERT takes this lock, on the log as a whole.
CREATE OR REPLACE FUNCTION is_writing() RETURNS boolean
LANGUAGE sql
AS $$
    SELECT EXISTS (
        SELECT FROM pg_locks
         WHERE locktype = 'relation'
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND relation = 'events'::regclass
           AND mode = 'RowExclusiveLock'
           AND granted
    )
$$;

-- Lets writers be silent again, unless somebody sleeps.
CREATE OR REPLACE FUNCTION silence_bell() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    LOCK TABLE ONLY bell IN ROW EXCLUSIVE MODE NOWAIT;
    PERFORM setval('bell_wanted', 0);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- Makes writers ring from now on and takes the lock that keeps them at it, or says at once that this cannot be had: a
-- writer that is under way may have found that it need not. It is looked for twice, since all of this is in vain while
-- writers come and go; only the second answer counts, after which every other writer finds that it must. Nor may
-- anybody sleep while notifications are not fetched, as by a server that stands still: where there is no room for more
-- of them, writing fails.
CREATE OR REPLACE FUNCTION request_bell() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF is_writing() OR pg_notification_queue_usage() > 0.25 THEN
        RETURN false;
    END IF;
    LOCK TABLE ONLY bell IN SHARE MODE NOWAIT;
    PERFORM setval('bell_wanted', 1);
    IF is_writing() THEN
        PERFORM silence_bell();
        RETURN false;
    END IF;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- Whether the number cannot be read. When a standby is promoted, PostgreSQL fills what is unlogged from a copy; that of a
-- sequence is empty where the standby has got it, with the schema, since it last wrote its memory to disk.
CREATE OR REPLACE FUNCTION is_bell_broken() RETURNS boolean
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM pg_sequence_last_value('bell_wanted');
    RETURN false;
EXCEPTION WHEN internal_error OR data_corrupted THEN
    RETURN true;
END $$;

-- Makes the number anew where it is broken, and says whether it did. Nobody can be asleep then, and the lock keeps two
-- that mend apart.
CREATE OR REPLACE FUNCTION mend_bell() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF NOT is_bell_broken() THEN
        RETURN false;
    END IF;
    LOCK TABLE ONLY bell IN SHARE ROW EXCLUSIVE MODE;
    IF NOT is_bell_broken() THEN
        RETURN false;
    END IF;
    DROP SEQUENCE public.bell_wanted;
    CREATE UNLOGGED SEQUENCE public.bell_wanted MINVALUE 0 MAXVALUE 1 START 0;
    RETURN true;
END $$;

-- Writes an event, rings the bell if a reader may sleep, and returns the event. It takes the kinds that every reader
-- knows, and what a watcher can receive. Only functions that act for the owner call it. A custom event has a name of its
-- own; others are named after what happened.
CREATE OR REPLACE FUNCTION write_event(
    resource_type resource_type, resource_id uuid, parent_id uuid, event_type event_type, version bigint, data json,
    name text DEFAULT NULL
) RETURNS events
LANGUAGE plpgsql
AS $$
DECLARE
    size    integer := octet_length(data::text);
    written events;
BEGIN
    IF size > 8388608 THEN
        RAISE EXCEPTION '% has more than 8 MiB of JSON in its event', concat_ws(' ', lower(resource_type), resource_id)
            USING ERRCODE = 'check_violation', CONSTRAINT = 'events_size', TABLE = 'events';
    END IF;
    -- An event that was delivered must survive a crash, or its revision would be handed out twice.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    INSERT INTO events (resource_type, resource_id, parent_id, event_type, name, version, data, size)
    VALUES (resource_type, resource_id, parent_id, event_type, coalesce(name, event_name(resource_type, event_type)),
            version, data, size)
    RETURNING * INTO written;
    IF is_bell_wanted() THEN
        PERFORM ring_bell(written);
    END IF;
    RETURN written;
END $$;

-- Events that no change of a row stands behind. Each call is a transaction of its own, so that its revision is
-- committed as soon as it is drawn.
CREATE OR REPLACE FUNCTION publish_event(name text, resource_id uuid, data json, actor text)
RETURNS TABLE (id uuid, revision bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM set_config('tinkwell.actor', actor, true);
    RETURN QUERY
    SELECT e.id, e.revision FROM write_event('CUSTOM', resource_id, NULL, 'CUSTOM', 0, data, name) e;
END $$;

-- CREATED, UPDATED, DELETED, or nothing for a change of what was and stays deleted.
CREATE OR REPLACE FUNCTION change_type(operation text, was_deleted timestamptz, is_deleted timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE
        WHEN operation = 'INSERT' THEN CASE WHEN is_deleted IS NULL THEN 'CREATED' END
        WHEN operation = 'DELETE' THEN CASE WHEN was_deleted IS NULL THEN 'DELETED' END
        ELSE CASE
            WHEN was_deleted IS NULL AND is_deleted IS NULL THEN 'UPDATED'
            WHEN was_deleted IS NULL THEN 'DELETED'
            WHEN is_deleted IS NULL THEN 'CREATED'
        END
    END
$$;

-- hardware.created, workflow.timeout, action.started …
CREATE OR REPLACE FUNCTION event_name(resource_type text, event_type text) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT lower(resource_type) || '.' || lower(replace(event_type, resource_type || '_', ''))
$$;

-- Each row counts its own versions. This runs as who makes the change, whose search_path could have another `+`.
CREATE OR REPLACE FUNCTION count_version() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.version := OLD.version OPERATOR(pg_catalog.+) 1;
    NEW.updated_at := pg_catalog.clock_timestamp();
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION refuse_truncate() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'TRUNCATE of % would lose events', TG_TABLE_NAME USING ERRCODE = 'feature_not_supported';
END $$;

CREATE OR REPLACE FUNCTION refuse_rewriting() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION '% of % would change what has been delivered; events are forgotten by whole partitions',
            TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'feature_not_supported';
END $$;

-- For columns that say which row it is, or to what it belongs. This runs as who makes the change, whose search_path could
-- have another `concat`.
CREATE OR REPLACE FUNCTION refuse_identity() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'what a row of % is known by may not change, since who watches it would hear nothing: '
                    'insert another row, and delete this one', TG_TABLE_NAME
        USING ERRCODE = 'check_violation', CONSTRAINT = pg_catalog.concat(TG_TABLE_NAME, '_identity'),
              TABLE = TG_TABLE_NAME;
END $$;

REVOKE ALL ON FUNCTION
    current_history, renew_history, first_revision_since, is_bell_wanted, ring_bell(events), bell_channel, is_writing, silence_bell,
    request_bell, is_bell_broken, mend_bell, write_event, publish_event, change_type, event_name, count_version,
    refuse_truncate, refuse_identity, refuse_rewriting
FROM PUBLIC;
