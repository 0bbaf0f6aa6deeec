-- What was written to the log stays as it is until its partition is forgotten. Inserts pay nothing for these triggers. Only
-- its time may be set, by which events are kept and forgotten.

CREATE TRIGGER events_kept
    BEFORE UPDATE OF revision, id, resource_type, resource_id, parent_id, event_type, name, version, actor, data, size
        OR DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION refuse_rewriting();
CREATE TRIGGER events_truncate BEFORE TRUNCATE ON events EXECUTE FUNCTION refuse_truncate();

-- Revisions are drawn, never set: `nextval` needs USAGE, `setval` UPDATE. This holds for an owner who is no superuser.
DO $$
DECLARE
    owner text := (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'events_revision'::regclass);
BEGIN
    EXECUTE format('REVOKE UPDATE ON SEQUENCE events_revision FROM %I', owner);
END $$;

-- Triggers for each row come with a partition's attachment, those for each statement do not.
DO $$
DECLARE
    one regclass;
BEGIN
    FOR one IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'events'::regclass LOOP
        EXECUTE format('CREATE TRIGGER events_truncate BEFORE TRUNCATE ON %s EXECUTE FUNCTION refuse_truncate()', one);
    END LOOP;
END $$;

-- A role or a session with `session_replication_role = replica` fires those triggers alone that are always enabled. What
-- checks changes, and what follows from them in other tables, is the source's business there; but each change is an event.
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT t.tgrelid::regclass AS name, quote_ident(t.tgname) AS trigger_name
          FROM pg_trigger t
          JOIN pg_class c ON c.oid = t.tgrelid
          JOIN pg_proc p ON p.oid = t.tgfoid
         WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND c.relnamespace = 'public'::regnamespace
           AND p.pronamespace = c.relnamespace
           AND p.proname ~ '^(write_\w+_event|count_version|refuse_\w+)$'
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %s', one.name, one.trigger_name);
    END LOOP;
END $$;
