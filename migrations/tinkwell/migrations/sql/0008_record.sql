-- One trigger writes each table's events, by one statement. It asks as little as it can on the way: every expression and
-- every function costs a change some hundredths of what all of it does. What no longer exists is told as it was, one
-- version on.
CREATE OR REPLACE FUNCTION record_hardware() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    kind  text := 'CREATED';
    name  text := 'hardware.created';
    shape json;
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
    INSERT INTO events (resource_type, resource_id, event_type, name, version, data, size)
    VALUES ('HARDWARE', NEW.id, kind, name, NEW.version, shape, octet_length(shape::text));
    IF must_ring() THEN
        PERFORM ring_bell();
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION record_template() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    kind  text := change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
    shape json;
BEGIN
    IF kind IS NULL THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    END IF;
    shape := template_shape(NEW);
    INSERT INTO events (resource_type, resource_id, event_type, name, version, data, size)
    VALUES ('TEMPLATE', NEW.id, kind, event_name('TEMPLATE', kind), NEW.version, shape, octet_length(shape::text));
    IF must_ring() THEN
        PERFORM ring_bell();
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION record_workflow() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    kind  text;
    shape json;
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
    INSERT INTO events (resource_type, resource_id, event_type, name, version, data, size)
    VALUES ('WORKFLOW', NEW.id, kind, event_name('WORKFLOW', kind), NEW.version, shape, octet_length(shape::text));
    IF must_ring() THEN
        PERFORM ring_bell();
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION record_action() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    kind  text;
    shape json;
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
    INSERT INTO events (resource_type, resource_id, parent_id, event_type, name, version, data, size)
    VALUES ('ACTION', NEW.id, NEW.workflow_id, kind, event_name('ACTION', kind), NEW.version, shape,
            octet_length(shape::text));
    IF must_ring() THEN
        PERFORM ring_bell();
    END IF;
    RETURN NULL;
END $$;
