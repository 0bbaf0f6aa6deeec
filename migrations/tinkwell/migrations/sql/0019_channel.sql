-- A new machine that must be told of costs a fourteenth less: to find the channel and to notify was a statement of its own. An
-- expression is enough, for which plpgsql asks neither the planner nor the executor.

-- Where a ring goes. It never changes, so it is found out once, when a session plans its first ring. Not for servers: they
-- ask `secret_channel`, which answers in the name of the owner.
CREATE FUNCTION bell_channel() RETURNS text
LANGUAGE sql IMMUTABLE
RETURN (SELECT channel FROM bell_secret);

REVOKE ALL ON FUNCTION bell_channel FROM PUBLIC;

-- As of 0012.
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

-- As of 0018.
CREATE OR REPLACE FUNCTION record_new_hardware() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
DECLARE
    shape   pg_catalog.text;
    id      pg_catalog.uuid;
    at      pg_catalog.timestamptz;
    payload pg_catalog.text;
    is_told pg_catalog.bool;
BEGIN
    IF NEW.updated_at OPERATOR(pg_catalog.=) NEW.created_at THEN
        shape := public.new_hardware_text(NEW);
    ELSE
        shape := public.hardware_text(NEW);
    END IF;
    -- Before the log is locked, this is no more than a guess at which way is the short one.
    IF public.is_bell_wanted() IS NOT TRUE THEN
        -- The number is drawn for a row that is inserted, not for one that is not.
        INSERT INTO public.events (resource_type, resource_id, event_type, name, version, data, size)
        SELECT 'HARDWARE', NEW.id, 'CREATED', 'hardware.created', NEW.version, shape::pg_catalog.json,
               pg_catalog.octet_length(shape)
         WHERE public.must_ring() IS NOT TRUE
           AND NEW.deleted_at IS NULL
           AND pg_catalog.octet_length(shape) OPERATOR(pg_catalog.<=) 1048576;
        IF FOUND THEN
            RETURN NULL;
        END IF;
    END IF;
    IF NEW.deleted_at IS NOT NULL OR pg_catalog.octet_length(shape) OPERATOR(pg_catalog.>) 1048576 THEN
        IF NEW.deleted_at IS NOT NULL THEN
            RETURN NULL;
        END IF;
        -- The shape holds metadata and network, and more.
        PERFORM public.check_hardware_size(NEW);
    END IF;
    id := public.new_event_id(pg_catalog.clock_timestamp());
    at := pg_catalog.clock_timestamp();
    INSERT INTO public.events (id, resource_type, resource_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'HARDWARE', NEW.id, 'CREATED', 'hardware.created', NEW.version, at, shape::pg_catalog.json,
            pg_catalog.octet_length(shape));
    -- As `ring_bell` does it. An event that was delivered must survive a crash, or its revision would be handed out twice.
    IF pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off' THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    payload := pg_catalog.concat_ws(
        E'\x1f', pg_catalog.currval('public.events_revision'), id, 'HARDWARE', NEW.id, '', 'CREATED', 'hardware.created',
        NEW.version, (pg_catalog.date_part('epoch', at) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8, shape,
        public.current_actor());
    -- Now the log is locked, so this look counts.
    IF public.is_bell_wanted() THEN
        is_told := pg_catalog.pg_notify(
            public.bell_channel(),
            CASE WHEN pg_catalog.octet_length(payload) OPERATOR(pg_catalog.<) public.told_limit() THEN payload
                 ELSE '' END) IS NOT NULL;
    END IF;
    RETURN NULL;
END $$;
