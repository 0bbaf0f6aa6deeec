-- Removes the guards.

-- As in `moment.sql`: nothing may name a column that gets another type.
CREATE OR REPLACE VIEW busy_machine AS SELECT worker_id, workflow_id FROM machine_hold;
DROP TRIGGER workflow_machines ON workflow;
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT c.oid::regclass AS name, string_agg(format('ALTER %I TYPE timestamptz', a.attname), ', ') AS types
          FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
         WHERE a.atttypid = 'moment'::regtype AND c.relkind = 'r' GROUP BY c.oid
    LOOP
        EXECUTE format('ALTER TABLE %s %s', one.name, one.types);
    END LOOP;
END $$;
DROP DOMAIN moment;
CREATE TRIGGER workflow_machines AFTER UPDATE OF state, deleted_at ON workflow FOR EACH ROW
    WHEN ((OLD.state = 'RUNNING' AND OLD.deleted_at IS NULL) <> (NEW.state = 'RUNNING' AND NEW.deleted_at IS NULL))
    EXECUTE FUNCTION hold_machines();
CREATE OR REPLACE VIEW busy_machine AS
SELECT h.worker_id, h.workflow_id
  FROM machine_hold h JOIN workflow w ON w.id = h.workflow_id
 WHERE (w.state = 'RUNNING' AND w.deleted_at IS NULL)
    OR EXISTS (SELECT FROM lease l WHERE l.id = h.lease_id AND l.expires_at > clock_timestamp());

DROP TABLE relay;
DROP FUNCTION renew_history;
DROP FUNCTION refuse_rewriting CASCADE;
DROP FUNCTION refuse_identity CASCADE;

-- Sessions that have run our functions know the former types of rows. What is altered, if only to what it is, they read anew.
DO $$
DECLARE
    one regprocedure;
BEGIN
    FOR one IN
        SELECT p.oid FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
         WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f' AND l.lanname = 'plpgsql'
           AND pg_has_role(p.proowner, 'USAGE')
           AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    LOOP
        EXECUTE format('ALTER FUNCTION %s COST 100', one);
    END LOOP;
END $$;

DO $$
DECLARE
    owner text := (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'events_revision'::regclass);
    one   record;
BEGIN
    EXECUTE format('GRANT UPDATE ON SEQUENCE events_revision TO %I', owner);
    FOR one IN
        SELECT t.tgrelid::regclass AS name, quote_ident(t.tgname) AS trigger_name, t.tgname = 'events_truncate' AS is_ours
          FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
         WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND t.tgenabled = 'A' AND c.relnamespace = 'public'::regnamespace
    LOOP
        EXECUTE CASE WHEN one.is_ours THEN format('DROP TRIGGER events_truncate ON %s', one.name)
                ELSE format('ALTER TABLE %s ENABLE TRIGGER %s', one.name, one.trigger_name) END;
    END LOOP;
END $$;
