-- Rings that tell of the event itself, on a channel that nobody else knows: whoever may connect may listen to any channel
-- and notify on it. Row security without a policy hides the name from all but the owner, whatever has been granted.
CREATE TABLE bell_secret (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    channel text NOT NULL
);
ALTER TABLE bell_secret ENABLE ROW LEVEL SECURITY;
INSERT INTO bell_secret (channel) VALUES ('tinkwell_' || replace(gen_random_uuid()::text, '-', ''));

-- Tells a server where to listen.
CREATE FUNCTION secret_channel() RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT channel FROM bell_secret
$$;
REVOKE ALL ON FUNCTION secret_channel FROM PUBLIC;

-- Called right after the INSERT of one event, which is the last that this session has drawn a revision for. What is too
-- long for a notification is not told.
CREATE OR REPLACE FUNCTION ring_bell() RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    drawn   bigint;
    told    public.events;
    payload text;
BEGIN
    -- An event that was delivered must survive a crash, or its revision would be handed out twice.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF pg_sequence_last_value('public.bell_wanted') > 0 THEN
        -- In a variable: what currval says may change at any moment, so all partitions would be made ready to be searched.
        drawn := currval('public.events_revision');
        SELECT * INTO STRICT told FROM public.events WHERE revision = drawn;
        -- The actor, which may be any text, comes last; in none of the others is there such a character.
        payload := concat_ws(
            E'\x1f', told.revision, told.id, told.resource_type, coalesce(told.resource_id::text, ''),
            coalesce(told.parent_id::text, ''), told.event_type, told.name, told.version,
            (date_part('epoch', told.created_at) * 1000000)::bigint, told.data, told.actor);
        -- PostgreSQL keeps so much of a block to itself.
        IF octet_length(payload) >= current_setting('block_size')::integer - 192 THEN
            payload := '';
        END IF;
        PERFORM pg_notify((SELECT channel FROM public.bell_secret), payload);
    END IF;
END $$;

-- Makes writers ring from now on and takes the lock that keeps them at it, or says at once that this cannot be had: a
-- writer that is under way may have found that it need not. It is looked for twice, since all of this is in vain while
-- writers come and go; only the second answer counts, after which every other writer finds that it must.
-- Nor may anybody sleep while notifications are not fetched, as by a server that stands still: where there is no room for
-- more of them, writing fails.
CREATE FUNCTION hush_bell() RETURNS boolean
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
REVOKE ALL ON FUNCTION hush_bell FROM PUBLIC;

-- Servers of earlier releases listen elsewhere, so they stay awake. One that is asleep now looks by itself within a second.
CREATE OR REPLACE FUNCTION may_sleep() RETURNS boolean
LANGUAGE sql
AS $$
    SELECT false
$$;

-- Whoever may put a server of an earlier release to sleep may do so with this one.
DO $$
DECLARE
    grantee text;
BEGIN
    FOR grantee IN
        SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
          FROM pg_proc p, aclexplode(p.proacl) a WHERE p.oid = 'may_sleep'::regproc
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION hush_bell, secret_channel TO %s', grantee);
    END LOOP;
END $$;
