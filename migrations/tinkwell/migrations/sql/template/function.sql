-- What becomes of a change of a template: an event. What no longer exists is told as it was, one version on.
CREATE OR REPLACE FUNCTION write_template_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    kind text := change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
BEGIN
    IF kind IS NULL THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    END IF;
    PERFORM write_event('TEMPLATE', NEW.id, NULL, kind, NEW.version, template_shape(NEW));
    RETURN NULL;
END $$;

REVOKE ALL ON FUNCTION write_template_event FROM PUBLIC;
