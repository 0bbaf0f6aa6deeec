-- What was emitted stays what it is, in the life of the release that its operation changes; only what came of it may change.
CREATE OR REPLACE FUNCTION check_lifecycle() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (OLD.operation_id, OLD.release_id, OLD.ordinal, OLD.event, OLD.chart)
           IS NOT DISTINCT FROM (NEW.operation_id, NEW.release_id, NEW.ordinal, NEW.event, NEW.chart) THEN
            RETURN NEW;
        END IF;
    ELSIF EXISTS (SELECT FROM operation WHERE id = NEW.operation_id AND release_id = NEW.release_id AND state = 'RUNNING') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'lifecycle % cannot be % of operation %', NEW.id, NEW.event, NEW.operation_id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'lifecycle_legal', TABLE = 'lifecycle';
END $$;

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

REVOKE ALL ON FUNCTION check_lifecycle, write_lifecycle_event FROM PUBLIC;
