-- The event log's functions, and those that the triggers of all resources share. Functions are SECURITY DEFINER where
-- they write or read what no user may directly. Some of them, and whatever they call, set no search_path, since that
-- costs much of what an insert does: in those every name is qualified, down to types and operators, so that nothing is
-- looked up where the caller says.

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

-- The doorbell's rules. What must hold, and why, is in docs/event-log.md.

-- What the number says: true while a reader may sleep, NULL after a crash of PostgreSQL, when nobody does.
CREATE OR REPLACE FUNCTION is_bell_wanted() RETURNS boolean
LANGUAGE sql
AS $$
    SELECT pg_catalog.pg_sequence_last_value('public.bell_wanted') OPERATOR(pg_catalog.>) 0
$$;

-- Whether a writer must act before it commits: nearly never, so this becomes part of the expression that calls it, and
-- costs next to nothing. To be asked after the INSERT: until the transaction ends, its lock tells readers that somebody
-- may have seen them awake.
CREATE OR REPLACE FUNCTION must_ring() RETURNS boolean
LANGUAGE sql
AS $$
    SELECT public.is_bell_wanted() OR pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off'
$$;

-- What is told has fewer bytes: PostgreSQL keeps so much of a block to itself.
CREATE OR REPLACE FUNCTION told_limit() RETURNS integer
LANGUAGE sql IMMUTABLE
AS $$
    SELECT pg_catalog.current_setting('block_size')::pg_catalog.int4 OPERATOR(pg_catalog.-) 192
$$;

-- Where a ring goes. It never changes, so it is found out once, when a session plans its first ring. Not for servers:
-- they ask `secret_channel`, which answers in the name of the owner.
CREATE OR REPLACE FUNCTION bell_channel() RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT channel FROM public.bell_secret
$$;

-- Tells of the event that was inserted last, which is the last that this session has drawn a revision for. What is too
-- long for a notification is not told.
CREATE OR REPLACE FUNCTION ring_bell(
    id uuid, resource_type text, resource_id uuid, parent_id uuid, event_type text, name text, version bigint,
    created_at timestamptz, data json
) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    payload pg_catalog.text;
    is_told pg_catalog.bool;
BEGIN
    -- An event that was delivered must survive a crash, or its revision would be handed out twice.
    IF pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off' THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    IF public.is_bell_wanted() THEN
        -- The actor, which may be any text, comes last; in none of the others is there such a character.
        payload := pg_catalog.concat_ws(
            E'\x1f', pg_catalog.currval('public.events_revision'), id, resource_type,
            coalesce(resource_id::pg_catalog.text, ''), coalesce(parent_id::pg_catalog.text, ''), event_type, name,
            version, (pg_catalog.date_part('epoch', created_at) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8, data,
            public.current_actor());
        IF pg_catalog.octet_length(payload) OPERATOR(pg_catalog.>=) public.told_limit() THEN
            payload := '';
        END IF;
        is_told := pg_catalog.pg_notify(public.bell_channel(), payload) IS NOT NULL;
    END IF;
END $$;

-- As above, for who does not have the event at hand.
CREATE OR REPLACE FUNCTION ring_bell() RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    drawn bigint;
    told  public.events;
BEGIN
    -- In a variable: what currval says may change at any moment, so all partitions would be made ready to be searched.
    drawn := currval('public.events_revision');
    SELECT * INTO STRICT told FROM public.events WHERE revision = drawn;
    PERFORM public.ring_bell(
        told.id, told.resource_type, told.resource_id, told.parent_id, told.event_type, told.name, told.version,
        told.created_at, told.data);
END $$;

-- Tells a server where to listen.
CREATE OR REPLACE FUNCTION secret_channel() RETURNS text
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
           AND relation = 'public.events'::regclass
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
CREATE OR REPLACE FUNCTION hush_bell() RETURNS boolean
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

-- For servers that listen on a channel that everybody knows: they stay awake.
CREATE OR REPLACE FUNCTION may_sleep() RETURNS boolean
LANGUAGE sql
AS $$
    SELECT false
$$;

-- Writes one event and returns its revision. Only functions that act for the owner call it, where speed does not count.
-- It takes the kinds that every reader knows, and what a watcher can receive.
CREATE OR REPLACE FUNCTION record_event(
    resource_type text, resource_id uuid, event_type text, name text, version bigint, data json
) RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    drawn bigint;
BEGIN
    INSERT INTO public.events (resource_type, resource_id, event_type, name, version, data, size)
    VALUES (resource_type::public.resource_type, resource_id, event_type::public.event_type, name, version, data,
            octet_length(data::text)::public.event_size)
    RETURNING revision INTO drawn;
    IF public.must_ring() THEN
        PERFORM public.ring_bell();
    END IF;
    RETURN drawn;
END $$;

-- Refuses an event that no watcher could receive, nor anything after it. Hardware and templates keep to limits of their
-- own, under which they cannot become so large.
CREATE OR REPLACE FUNCTION refuse_size(resource text, id uuid) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION '% % has more than 8 MiB of JSON in its event', resource, id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'events_size', TABLE = 'events';
END $$;

-- Events that no change of a row stands behind. Each call is a transaction of its own, so that its revision is
-- committed as soon as it is drawn.
CREATE OR REPLACE FUNCTION publish_event(name text, resource_id uuid, data json, actor text)
RETURNS TABLE (id uuid, revision bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    drawn bigint;
BEGIN
    PERFORM set_config('tinkwell.actor', actor, true);
    drawn := record_event('CUSTOM', resource_id, 'CUSTOM', name, 0, data);
    RETURN QUERY SELECT e.id, e.revision FROM events e WHERE e.revision = drawn;
END $$;

-- CREATED, UPDATED, DELETED, or nothing for a change of what was and stays deleted.
CREATE OR REPLACE FUNCTION change_type(operation text, was_deleted timestamptz, is_deleted timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE
        WHEN operation OPERATOR(pg_catalog.=) 'INSERT' THEN CASE WHEN is_deleted IS NULL THEN 'CREATED' END
        WHEN operation OPERATOR(pg_catalog.=) 'DELETE' THEN CASE WHEN was_deleted IS NULL THEN 'DELETED' END
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
    SELECT pg_catalog.lower(resource_type) OPERATOR(pg_catalog.||) '.' OPERATOR(pg_catalog.||)
           pg_catalog.lower(pg_catalog.replace(event_type, resource_type OPERATOR(pg_catalog.||) '_', ''))
$$;

-- Each row counts its own versions.
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
    RAISE EXCEPTION 'TRUNCATE of % would lose events; use DELETE', TG_TABLE_NAME USING ERRCODE = 'feature_not_supported';
END $$;

REVOKE ALL ON FUNCTION
    current_history, first_revision_since, is_bell_wanted, must_ring, told_limit, bell_channel,
    ring_bell(uuid, text, uuid, uuid, text, text, bigint, timestamptz, json), ring_bell(), secret_channel, is_writing,
    silence_bell, hush_bell, may_sleep, record_event, refuse_size, publish_event, change_type, event_name, count_version,
    refuse_truncate
FROM PUBLIC;
