-- A ring that is given its event, instead of looking it up: that was more than half of what the ring cost.

-- Tells of the event that was inserted last, which is the last that this session has drawn a revision for. What is too
-- long for a notification is not told.
CREATE FUNCTION ring_bell(
    id uuid, resource_type text, resource_id uuid, parent_id uuid, event_type text, name text, version bigint,
    created_at timestamptz, data json
) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    payload text;
    secret  text;
BEGIN
    -- An event that was delivered must survive a crash, or its revision would be handed out twice.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF pg_sequence_last_value('public.bell_wanted') > 0 THEN
        -- The actor, which may be any text, comes last; in none of the others is there such a character.
        payload := concat_ws(
            E'\x1f', currval('public.events_revision'), id, resource_type, coalesce(resource_id::text, ''),
            coalesce(parent_id::text, ''), event_type, name, version,
            (date_part('epoch', created_at) * 1000000)::bigint, data, public.current_actor());
        -- PostgreSQL keeps so much of a block to itself.
        IF octet_length(payload) >= current_setting('block_size')::integer - 192 THEN
            payload := '';
        END IF;
        SELECT channel INTO STRICT secret FROM public.bell_secret;
        PERFORM pg_notify(secret, payload);
    END IF;
END $$;
REVOKE ALL ON FUNCTION ring_bell(uuid, text, uuid, uuid, text, text, bigint, timestamptz, json) FROM PUBLIC;

-- For record_event, and for writers that were under way when this came.
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

-- As of 0008, but that they know what they wrote, for the ring. To have the INSERT return it would cost silent writers more.
CREATE OR REPLACE FUNCTION record_hardware() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    kind  text := 'CREATED';
    name  text := 'hardware.created';
    shape json;
    id    uuid;
    at    timestamptz;
BEGIN
    IF TG_OP <> 'INSERT' OR NEW.deleted_at IS NOT NULL THEN
        kind := change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
        IF kind IS NULL THEN
            RETURN NULL;
        END IF;
        name := event_name('HARDWARE', kind);
        IF TG_OP = 'DELETE' THEN
            NEW := OLD;
            NEW.version := OLD.version + 1;
        END IF;
    END IF;
    shape := hardware_shape(NEW);
    IF octet_length(shape::text) > 1048576 THEN
        -- The shape holds both, and more.
        IF octet_length(NEW.metadata::text) + octet_length(NEW.network::text) > 1048576 THEN
            RAISE EXCEPTION 'hardware % has more than 1 MiB of metadata and network together', NEW.id
                USING ERRCODE = 'check_violation', CONSTRAINT = 'hardware_size', TABLE = TG_TABLE_NAME;
        END IF;
    END IF;
    id := gen_random_uuid();
    at := clock_timestamp();
    INSERT INTO events (id, resource_type, resource_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'HARDWARE', NEW.id, kind, name, NEW.version, at, shape, octet_length(shape::text));
    IF must_ring() THEN
        PERFORM ring_bell(id, 'HARDWARE', NEW.id, NULL, kind, name, NEW.version, at, shape);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION record_template() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    kind  text := change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
    name  text;
    shape json;
    id    uuid;
    at    timestamptz;
BEGIN
    IF kind IS NULL THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    END IF;
    shape := template_shape(NEW);
    name := event_name('TEMPLATE', kind);
    id := gen_random_uuid();
    at := clock_timestamp();
    INSERT INTO events (id, resource_type, resource_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'TEMPLATE', NEW.id, kind, name, NEW.version, at, shape, octet_length(shape::text));
    IF must_ring() THEN
        PERFORM ring_bell(id, 'TEMPLATE', NEW.id, NULL, kind, name, NEW.version, at, shape);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION record_workflow() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    kind  text;
    name  text;
    shape json;
    id    uuid;
    at    timestamptz;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.state <> OLD.state AND coalesce(OLD.deleted_at, NEW.deleted_at) IS NULL THEN
        kind := CASE NEW.state WHEN 'RUNNING' THEN 'WORKFLOW_STARTED' ELSE 'WORKFLOW_' || NEW.state END;
    ELSE
        kind := change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
        IF kind IS NULL THEN
            RETURN NULL;
        END IF;
        IF kind = 'UPDATED' AND NEW.completed_actions > OLD.completed_actions THEN
            kind := 'WORKFLOW_INPROGRESS';
        ELSIF TG_OP = 'DELETE' THEN
            NEW := OLD;
            NEW.version := OLD.version + 1;
        END IF;
    END IF;
    shape := workflow_shape(NEW, kind = 'CREATED');
    IF octet_length(shape::text) > 8388608 THEN
        PERFORM refuse_size(TG_TABLE_NAME, NEW.id);
    END IF;
    name := event_name('WORKFLOW', kind);
    id := gen_random_uuid();
    at := clock_timestamp();
    INSERT INTO events (id, resource_type, resource_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'WORKFLOW', NEW.id, kind, name, NEW.version, at, shape, octet_length(shape::text));
    IF must_ring() THEN
        PERFORM ring_bell(id, 'WORKFLOW', NEW.id, NULL, kind, name, NEW.version, at, shape);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION record_action() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    kind  text;
    name  text;
    shape json;
    id    uuid;
    at    timestamptz;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.state <> OLD.state THEN
        kind := CASE NEW.state WHEN 'RUNNING' THEN 'ACTION_STARTED' WHEN 'PENDING' THEN 'ACTION_RETRYING'
                               ELSE 'ACTION_' || NEW.state END;
    ELSE
        kind := change_type(TG_OP, NULL, NULL);
        IF TG_OP = 'DELETE' THEN
            NEW := OLD;
            NEW.version := OLD.version + 1;
        END IF;
    END IF;
    shape := action_shape(NEW);
    IF octet_length(shape::text) > 8388608 THEN
        PERFORM refuse_size(TG_TABLE_NAME, NEW.id);
    END IF;
    name := event_name('ACTION', kind);
    id := gen_random_uuid();
    at := clock_timestamp();
    INSERT INTO events (id, resource_type, resource_id, parent_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'ACTION', NEW.id, NEW.workflow_id, kind, name, NEW.version, at, shape, octet_length(shape::text));
    IF must_ring() THEN
        PERFORM ring_bell(id, 'ACTION', NEW.id, NEW.workflow_id, kind, name, NEW.version, at, shape);
    END IF;
    RETURN NULL;
END $$;
