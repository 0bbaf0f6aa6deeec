-- Tells what was emitted, under the release in whose life that was.
CREATE OR REPLACE FUNCTION write_lifecycle_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM write_event(
        'LIFECYCLE', NEW.id, NEW.release_id, 'LIFECYCLE_EMITTED', NEW.version, lifecycle_shape(NEW)
    );
    RETURN NULL;
END $$;

REVOKE ALL ON FUNCTION write_lifecycle_event FROM PUBLIC;
