-- What becomes of a change of a template: an event. What no longer exists is told as it was, one version on.
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
    id := public.new_event_id(pg_catalog.clock_timestamp());
    at := clock_timestamp();
    INSERT INTO events (id, resource_type, resource_id, event_type, name, version, created_at, data, size)
    VALUES (id, 'TEMPLATE', NEW.id, kind, name, NEW.version, at, shape, octet_length(shape::text));
    IF must_ring() THEN
        PERFORM ring_bell(id, 'TEMPLATE', NEW.id, NULL, kind, name, NEW.version, at, shape);
    END IF;
    RETURN NULL;
END $$;

REVOKE ALL ON FUNCTION record_template FROM PUBLIC;
