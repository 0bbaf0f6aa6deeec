-- What happens around each change of secrets and tasks, whoever makes it; see `trigger.sql`.

CREATE TRIGGER secret_version BEFORE UPDATE ON secret FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER task_version BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER task_transition BEFORE INSERT OR UPDATE OF state ON task
    FOR EACH ROW EXECUTE FUNCTION check_task_transition();
CREATE TRIGGER secret_revision_sealed AFTER DELETE ON secret_revision
    FOR EACH ROW EXECUTE FUNCTION delete_sealed();

CREATE TRIGGER secret_identity BEFORE UPDATE OF id, namespace, name, application_id, unit_id, owner ON secret
    FOR EACH ROW WHEN ((OLD.id, OLD.namespace::text, OLD.name, OLD.application_id, OLD.unit_id, OLD.owner)
                       IS DISTINCT FROM
                       (NEW.id, NEW.namespace::text, NEW.name, NEW.application_id, NEW.unit_id, NEW.owner))
    EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER task_identity BEFORE UPDATE OF id, unit_id, application_id, kind, name ON task
    FOR EACH ROW WHEN ((OLD.id, OLD.unit_id, OLD.application_id, OLD.kind, OLD.name)
                       IS DISTINCT FROM (NEW.id, NEW.unit_id, NEW.application_id, NEW.kind, NEW.name))
    EXECUTE FUNCTION refuse_identity();

CREATE TRIGGER secret_truncate BEFORE TRUNCATE ON secret EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER task_truncate BEFORE TRUNCATE ON task EXECUTE FUNCTION refuse_truncate();

CREATE CONSTRAINT TRIGGER secret_event AFTER INSERT OR UPDATE OR DELETE ON secret
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_secret_event();
-- That a task is kept no longer is not told.
CREATE CONSTRAINT TRIGGER task_event AFTER INSERT OR UPDATE ON task
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_task_event();

-- As in `event/guard.sql`: each change is an event, in a session that replicates, too.
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT t.tgrelid::regclass AS name, quote_ident(t.tgname) AS trigger_name
          FROM pg_trigger t
          JOIN pg_class c ON c.oid = t.tgrelid
          JOIN pg_proc p ON p.oid = t.tgfoid
         WHERE NOT t.tgisinternal AND t.tgenabled = 'O' AND t.tgparentid = 0
           AND c.relnamespace = 'public'::regnamespace AND p.pronamespace = c.relnamespace
           AND c.relname IN ('secret', 'task')
           AND p.proname ~ '^(write_\w+_event|count_\w+|refuse_\w+)$'
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %s', one.name, one.trigger_name);
    END LOOP;
END $$;
