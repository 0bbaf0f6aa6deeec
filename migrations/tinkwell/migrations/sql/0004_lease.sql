-- A lease is an owner's session: that of a provisioner or an agent. It is renewed by one statement, however much is held
-- under it. The table was unused; it is changed in place, so that whoever may write it goes on to be able to.
DELETE FROM lease;
ALTER TABLE lease
    DROP COLUMN name,
    DROP COLUMN owner,
    DROP COLUMN token,
    DROP COLUMN expires_at,
    -- Fences: an owner that comes back gets a greater one, and what still knows the former one is refused.
    ADD COLUMN token       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- What holds refer to. It stays while the owner comes back with the same engine, so that its holds come with it.
    ADD COLUMN id          uuid NOT NULL DEFAULT gen_random_uuid() CONSTRAINT lease_id UNIQUE,
    ADD COLUMN owner       text NOT NULL CONSTRAINT lease_owner UNIQUE,
    ADD COLUMN engine      text NOT NULL,
    ADD COLUMN acquired_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ADD COLUMN expires_at  timestamptz NOT NULL;

-- No foreign key: a lease that is not there is dead. action_id is the action whose run may still be on the machine, NULL
-- when nothing of it is there.
ALTER TABLE machine_hold ADD COLUMN lease_id uuid, ADD COLUMN action_id uuid;

-- The machines on which no other workflow may start: one runs there, or something that a living owner has started for a
-- workflow that is over. Everything else in machine_hold may be taken.
CREATE VIEW busy_machine AS
SELECT h.worker_id, h.workflow_id
  FROM machine_hold h JOIN workflow w ON w.id = h.workflow_id
 WHERE (w.state = 'RUNNING' AND w.deleted_at IS NULL)
    OR EXISTS (SELECT FROM lease l WHERE l.id = h.lease_id AND l.expires_at > clock_timestamp());

-- Who writes holds, so that no two ever wait for each other:
-- * The holds of a workflow are written by whoever has locked its row, and has begun to run it, end it or look after it.
-- * Only a start takes holds of another workflow, one that is over. It inserts what is missing first, in the order of the
--   workers, and then locks what is there without waiting for anybody: what is locked by others may be tried again.
-- * A lease is one row, written by those who acquire, renew and release it and by nobody else; holds follow it by its id.
CREATE OR REPLACE FUNCTION hold_machines() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    missing uuid[];
    holder  busy_machine;
    free    uuid[];
BEGIN
    IF NEW.state <> 'RUNNING' OR NEW.deleted_at IS NOT NULL THEN
        DELETE FROM machine_hold WHERE workflow_id = NEW.id AND action_id IS NULL;
        RETURN NULL;
    END IF;
    WITH wanted AS MATERIALIZED (
        SELECT DISTINCT worker_id FROM action WHERE workflow_id = NEW.id
        -- What is its own already: it was deleted by mistake, and is taken back.
        EXCEPT SELECT worker_id FROM machine_hold WHERE workflow_id = NEW.id
    ), taken AS (
        INSERT INTO machine_hold (worker_id, workflow_id)
        SELECT worker_id, NEW.id FROM wanted ORDER BY worker_id
            ON CONFLICT DO NOTHING
        RETURNING worker_id
    )
    SELECT array_agg(worker_id) INTO missing FROM wanted WHERE worker_id NOT IN (SELECT worker_id FROM taken);
    IF missing IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT * INTO holder FROM busy_machine WHERE worker_id = ANY (missing) ORDER BY worker_id LIMIT 1;
    IF NOT FOUND THEN
        SELECT array_agg(worker_id) INTO free FROM (
            SELECT worker_id FROM machine_hold WHERE worker_id = ANY (missing) FOR UPDATE SKIP LOCKED
        ) locked;
        -- Once more, since another start may have been faster with one of them.
        SELECT * INTO holder FROM busy_machine WHERE worker_id = ANY (missing) ORDER BY worker_id LIMIT 1;
    END IF;
    IF FOUND THEN
        RAISE EXCEPTION 'workflow % waits for machine %, on which workflow % runs',
                NEW.id, holder.worker_id, holder.workflow_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'machine_transition', TABLE = TG_TABLE_NAME,
                  DETAIL = format('(worker_id, workflow_id)=(%s, %s)', holder.worker_id, holder.workflow_id);
    END IF;
    IF cardinality(free) IS DISTINCT FROM cardinality(missing) THEN
        -- One is let go in this moment. To take it now could be out of order, so all is done again.
        RAISE EXCEPTION 'the machines of workflow % are let go in this moment; try again', NEW.id
            USING ERRCODE = 'serialization_failure';
    END IF;
    UPDATE machine_hold SET workflow_id = NEW.id, lease_id = NULL, action_id = NULL WHERE worker_id = ANY (free);
    RETURN NULL;
END $$;

-- Whoever may read or change workflows may do so with what belongs to them.
DO $$
DECLARE
    granted record;
BEGIN
    FOR granted IN
        SELECT DISTINCT a.grantee::regrole AS role, a.privilege_type AS privilege
          FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
         WHERE c.oid = 'workflow'::regclass AND a.privilege_type IN ('SELECT', 'UPDATE')
           AND a.grantee NOT IN (0, c.relowner)
    LOOP
        IF granted.privilege = 'SELECT' THEN
            EXECUTE format('GRANT SELECT ON busy_machine TO %s', granted.role);
        ELSE
            EXECUTE format('GRANT UPDATE, DELETE ON machine_hold TO %s', granted.role);
        END IF;
    END LOOP;
END $$;
