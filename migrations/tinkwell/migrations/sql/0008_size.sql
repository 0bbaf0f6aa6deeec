-- Nobody writes events but the functions here and record_event, and what they write is of a known kind by itself. To have
-- PostgreSQL check it once more was a twentieth of what a change costs. This rewrites nothing.
ALTER TABLE events
    ALTER COLUMN resource_type TYPE text, ALTER COLUMN event_type TYPE text, ALTER COLUMN size TYPE integer;

-- Refuses an event that no watcher could receive, nor anything after it. Hardware and templates keep to limits of their
-- own, under which they cannot become so large.
CREATE FUNCTION refuse_size(resource text, id uuid) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION '% % has more than 8 MiB of JSON in its event', resource, id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'events_size', TABLE = 'events';
END $$;
REVOKE ALL ON FUNCTION refuse_size FROM PUBLIC;
