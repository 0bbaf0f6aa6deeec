-- What becomes of a chart: an event. What no longer exists is told as it was, one version on.
CREATE OR REPLACE FUNCTION write_chart_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
        PERFORM write_event('CHART', NEW.id, NULL, 'DELETED', NEW.version, chart_shape(NEW));
    ELSE
        PERFORM write_event('CHART', NEW.id, NULL, 'CREATED', NEW.version, chart_shape(NEW));
    END IF;
    RETURN NULL;
END $$;

REVOKE ALL ON FUNCTION write_chart_event FROM PUBLIC;
