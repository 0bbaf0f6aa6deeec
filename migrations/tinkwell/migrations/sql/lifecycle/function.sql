-- Tells what was emitted, under the release in whose life that was. An event has at most 64 KiB, so very many handlers are
-- told by the table alone.
CREATE OR REPLACE FUNCTION write_lifecycle_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF octet_length(NEW.handlers::text) > 49152 THEN
        NEW.handlers := '[]';
    END IF;
    PERFORM write_event(
        'LIFECYCLE', NEW.id, NEW.release_id, 'LIFECYCLE_EMITTED', NEW.version, lifecycle_shape(NEW)
    );
    RETURN NULL;
END $$;

REVOKE ALL ON FUNCTION write_lifecycle_event FROM PUBLIC;
