-- The doorbell without a lock for each writer. What must hold, and why, is in docs/event-log.md.

-- 1 while writers must ring. A sequence, for its value is read and set outside transactions; unlogged, for after a crash
-- nobody sleeps. It is set while SHARE on `bell` is held, and unset only by who gets ROW EXCLUSIVE on it: so it is set as
-- long as anybody sleeps.
CREATE UNLOGGED SEQUENCE bell_wanted MINVALUE 0 MAXVALUE 1 START 0;
SELECT setval('bell_wanted', 1);

-- The lock waits for writers that have rung as they did so far. Those that wait for it in turn ring nobody, this once;
-- sleepers look by themselves within a second.
DROP TRIGGER events_ring ON events;
DROP FUNCTION ring_bell;

-- Whether a writer must act before it commits: nearly never, so this becomes part of the expression that calls it, and
-- costs next to nothing. To be asked after the INSERT: until the transaction ends, its lock tells readers that somebody
-- may have seen them awake.
CREATE FUNCTION must_ring() RETURNS boolean
LANGUAGE sql
AS $$
    SELECT pg_sequence_last_value('public.bell_wanted') > 0 OR current_setting('synchronous_commit') = 'off'
$$;

CREATE FUNCTION ring_bell() RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    -- An event that was delivered must survive a crash, or its revision would be handed out twice.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF pg_sequence_last_value('public.bell_wanted') > 0 THEN
        NOTIFY tinkwell_bell;
    END IF;
END $$;

-- Whether anybody has written an event and not ended: INSERT takes this lock, on the log as a whole.
CREATE FUNCTION is_writing() RETURNS boolean
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
CREATE FUNCTION silence_bell() RETURNS boolean
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
-- writers come and go; only the second answer counts, after which every other writer finds that it must.
CREATE OR REPLACE FUNCTION may_sleep() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF is_writing() THEN
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

REVOKE ALL ON FUNCTION must_ring, ring_bell, is_writing, silence_bell FROM PUBLIC;

-- Whoever may put a server to sleep may let writers be silent.
DO $$
DECLARE
    grantee text;
BEGIN
    FOR grantee IN
        SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
          FROM pg_proc p, aclexplode(p.proacl) a WHERE p.oid = 'may_sleep'::regproc
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION silence_bell TO %s', grantee);
    END LOOP;
END $$;

-- Readers of an earlier release may be asleep at this moment: they keep it set.
SELECT silence_bell();
