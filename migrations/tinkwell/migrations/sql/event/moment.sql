-- Times that everybody can read: those of the API end with the year 9999, and those of many a program begin with the year
-- 1, so that one row beyond that would fail every list that has it. It is said by a domain, which costs the change of a
-- machine nothing that can be measured. A check of its table, which PostgreSQL reads anew for every statement, would cost
-- a tenth. No table is written anew for this, since the domain is bounded only once the columns have it.

CREATE DOMAIN moment AS timestamptz;

-- Nothing may name a column that gets another type.
CREATE OR REPLACE VIEW busy_machine AS SELECT worker_id, workflow_id FROM machine_hold;
DROP TRIGGER workflow_machines ON workflow;

-- What is out of bounds is brought to them, and told as any change is.
DO $$
DECLARE
    bounded CONSTANT text := '%1$I = CASE WHEN %1$I IS NOT NULL THEN least(greatest(%1$I, $1), $2) END';
    first   CONSTANT timestamptz := '0001-01-01T00:00:00Z';
    last    CONSTANT timestamptz := '9999-12-31T23:59:59.999999Z';
    one     record;
BEGIN
    FOR one IN
        SELECT c.oid::regclass AS name,
               string_agg(format(bounded, a.attname), ', ') AS assignments,
               string_agg(format('%I NOT BETWEEN $1 AND $2', a.attname), ' OR ') AS condition,
               string_agg(format('ALTER %I TYPE moment', a.attname), ', ') AS types
          FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND NOT c.relispartition
           AND c.relname <> 'event_discard' AND c.relname NOT IN (SELECT partition_name FROM event_discard)
           AND a.atttypid = 'timestamptz'::regtype AND NOT a.attisdropped
         GROUP BY c.oid
    LOOP
        EXECUTE format('UPDATE %s SET %s WHERE %s', one.name, one.assignments, one.condition) USING first, last;
        -- A table whose events are still to be written cannot be altered.
        SET CONSTRAINTS ALL IMMEDIATE;
        EXECUTE format('ALTER TABLE %s %s', one.name, one.types);
        SET CONSTRAINTS ALL DEFERRED;
    END LOOP;
END $$;

ALTER DOMAIN moment ADD CONSTRAINT moment_range CHECK (VALUE >= '0001-01-01T00:00:00Z' AND VALUE < '10000-01-01T00:00:00Z');

CREATE TRIGGER workflow_machines AFTER UPDATE OF state, deleted_at ON workflow FOR EACH ROW
    WHEN ((OLD.state = 'RUNNING' AND OLD.deleted_at IS NULL) <> (NEW.state = 'RUNNING' AND NEW.deleted_at IS NULL))
    EXECUTE FUNCTION hold_machines();
CREATE OR REPLACE VIEW busy_machine AS
SELECT h.worker_id, h.workflow_id
  FROM machine_hold h JOIN workflow w ON w.id = h.workflow_id
 WHERE (w.state = 'RUNNING' AND w.deleted_at IS NULL)
    OR EXISTS (SELECT FROM lease l WHERE l.id = h.lease_id AND l.expires_at > clock_timestamp());

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
