-- What records a change of a machine sets no search_path any more, which was a twentieth of what an insert costs. It
-- runs as the owner, so nothing in it may be looked up where the caller says: what it calls is bound here, once and for
-- all, and everything else is named in full, down to types and operators.

-- `, "key": "2026-05-17T08:00:00.000000Z"`, or NULL for a moment that is NULL, which concat leaves out.
CREATE OR REPLACE FUNCTION time_member(key text, moment timestamptz) RETURNS text
LANGUAGE sql STABLE
RETURN to_char(moment AT TIME ZONE 'UTC', '", \"' || key || '\": \""YYYY-MM-DD"T"HH24:MI:SS.US"Z\""');

CREATE OR REPLACE FUNCTION hardware_shape(h hardware) RETURNS json
LANGUAGE sql STABLE
RETURN concat(
    '{"id": "', h.id, '", "version": ', h.version, ', "metadata": ', h.metadata, ', "network": ', h.network,
    time_member('created_at', h.created_at), time_member('updated_at', h.updated_at),
    time_member('deleted_at', h.deleted_at), '}'
)::json;

-- CREATED, UPDATED, DELETED, or nothing for a change of what was and stays deleted.
CREATE OR REPLACE FUNCTION change_type(operation text, was_deleted timestamptz, is_deleted timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE operation
    WHEN 'INSERT' THEN CASE WHEN is_deleted IS NULL THEN 'CREATED' END
    WHEN 'DELETE' THEN CASE WHEN was_deleted IS NULL THEN 'DELETED' END
    ELSE CASE
        WHEN was_deleted IS NULL AND is_deleted IS NULL THEN 'UPDATED'
        WHEN was_deleted IS NULL THEN 'DELETED'
        WHEN is_deleted IS NULL THEN 'CREATED'
    END
END;

-- hardware.created, workflow.timeout, action.started …
CREATE OR REPLACE FUNCTION event_name(resource_type text, event_type text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN lower(resource_type) || '.' || lower(replace(event_type, resource_type || '_', ''));

-- Who is behind a change: whom the transaction says it acts for, or else the session's own user.
CREATE OR REPLACE FUNCTION current_actor() RETURNS text
LANGUAGE sql STABLE
RETURN coalesce(nullif(current_setting('tinkwell.actor', true), ''), session_user);

-- As of 0008: to be asked after the INSERT.
CREATE OR REPLACE FUNCTION must_ring() RETURNS boolean
LANGUAGE sql
RETURN pg_sequence_last_value('public.bell_wanted') > 0 OR current_setting('synchronous_commit') = 'off';

CREATE OR REPLACE FUNCTION ring_bell(
    id uuid, resource_type text, resource_id uuid, parent_id uuid, event_type text, name text, version bigint,
    created_at timestamptz, data json
) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    payload pg_catalog.text;
    secret  pg_catalog.text;
BEGIN
    -- An event that was delivered must survive a crash, or its revision would be handed out twice.
    IF pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off' THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    IF pg_catalog.pg_sequence_last_value('public.bell_wanted') OPERATOR(pg_catalog.>) 0 THEN
        -- The actor, which may be any text, comes last; in none of the others is there such a character.
        payload := pg_catalog.concat_ws(
            E'\x1f', pg_catalog.currval('public.events_revision'), id, resource_type,
            coalesce(resource_id::pg_catalog.text, ''), coalesce(parent_id::pg_catalog.text, ''), event_type, name,
            version, (pg_catalog.date_part('epoch', created_at) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8, data,
            public.current_actor());
        -- PostgreSQL keeps so much of a block to itself.
        IF pg_catalog.octet_length(payload) OPERATOR(pg_catalog.>=)
                (pg_catalog.current_setting('block_size')::pg_catalog.int4 OPERATOR(pg_catalog.-) 192) THEN
            payload := '';
        END IF;
        SELECT channel INTO STRICT secret FROM public.bell_secret;
        PERFORM pg_catalog.pg_notify(secret, payload);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION record_hardware() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
DECLARE
    kind  pg_catalog.text := 'CREATED';
    name  pg_catalog.text := 'hardware.created';
    shape pg_catalog.json;
    size  pg_catalog.int4;
    id    pg_catalog.uuid;
    at    pg_catalog.timestamptz;
BEGIN
    IF TG_OP OPERATOR(pg_catalog.<>) 'INSERT' OR NEW.deleted_at IS NOT NULL THEN
        kind := public.change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
        IF kind IS NULL THEN
            RETURN NULL;
        END IF;
        name := public.event_name('HARDWARE', kind);
        IF TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN
            NEW := OLD;
            NEW.version := OLD.version OPERATOR(pg_catalog.+) 1;
        END IF;
    END IF;
    shape := public.hardware_shape(NEW);
    size := pg_catalog.octet_length(shape::pg_catalog.text);
    -- The shape holds both, and more.
    IF size OPERATOR(pg_catalog.>) 1048576
       AND (pg_catalog.octet_length(NEW.metadata::pg_catalog.text) OPERATOR(pg_catalog.+)
            pg_catalog.octet_length(NEW.network::pg_catalog.text)) OPERATOR(pg_catalog.>) 1048576 THEN
        RAISE EXCEPTION 'hardware % has more than 1 MiB of metadata and network together', NEW.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'hardware_size', TABLE = TG_TABLE_NAME;
    END IF;
    id := pg_catalog.gen_random_uuid();
    at := pg_catalog.clock_timestamp();
    INSERT INTO public.events (id, resource_type, resource_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'HARDWARE', NEW.id, kind, name, NEW.version, at, shape, size);
    IF public.must_ring() THEN
        PERFORM public.ring_bell(id, 'HARDWARE', NEW.id, NULL, kind, name, NEW.version, at, shape);
    END IF;
    RETURN NULL;
END $$;
