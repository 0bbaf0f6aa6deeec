-- One running workflow for each machine. A workflow takes all its machines in the transaction in which it starts, and lets
-- them go in the one in which it ends, is deleted, or vanishes, whoever does it.
CREATE TABLE machine_hold (
    worker_id   uuid PRIMARY KEY,
    workflow_id uuid NOT NULL REFERENCES workflow ON DELETE CASCADE
);
CREATE INDEX machine_hold_workflow ON machine_hold (workflow_id);

-- Machines that announced themselves and were not known; their number is limited.
CREATE TABLE self_enrolment (
    hardware_id uuid PRIMARY KEY REFERENCES hardware ON DELETE CASCADE,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Machines are taken in the order of their ids, and nothing is waited for once one is missing, so no two starts can ever
-- wait for each other. One that ends waits for nobody.
CREATE FUNCTION hold_machines() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    missing uuid[];
    holder  machine_hold;
BEGIN
    IF NEW.state <> 'RUNNING' OR NEW.deleted_at IS NOT NULL THEN
        DELETE FROM machine_hold WHERE workflow_id = NEW.id;
        RETURN NULL;
    END IF;
    WITH wanted AS MATERIALIZED (
        SELECT DISTINCT worker_id FROM action WHERE workflow_id = NEW.id
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
    SELECT * INTO holder FROM machine_hold WHERE worker_id = ANY (missing) ORDER BY worker_id LIMIT 1;
    IF NOT FOUND THEN
        -- It has ended since. To take the machine now could be out of order, so all is done again.
        RAISE EXCEPTION 'the machines of workflow % were let go in this moment; try again', NEW.id
            USING ERRCODE = 'serialization_failure';
    END IF;
    RAISE EXCEPTION 'workflow % waits for machine %, on which workflow % runs', NEW.id, holder.worker_id, holder.workflow_id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'machine_transition', TABLE = TG_TABLE_NAME,
              DETAIL = format('(worker_id, workflow_id)=(%s, %s)', holder.worker_id, holder.workflow_id);
END $$;

-- Its creation waits for all who are changing workflows, so the holds below are those of everything that runs.
CREATE TRIGGER workflow_machines AFTER UPDATE OF state, deleted_at ON workflow FOR EACH ROW
    WHEN ((OLD.state = 'RUNNING' AND OLD.deleted_at IS NULL) <> (NEW.state = 'RUNNING' AND NEW.deleted_at IS NULL))
    EXECUTE FUNCTION hold_machines();

-- Of several that run on one machine since before there were holds, the oldest gets it. The others run on, and only those
-- that start later wait.
INSERT INTO machine_hold (worker_id, workflow_id)
SELECT DISTINCT ON (a.worker_id) a.worker_id, w.id
  FROM workflow w JOIN action a ON a.workflow_id = w.id
 WHERE w.state = 'RUNNING' AND w.deleted_at IS NULL
 ORDER BY a.worker_id, w.created_at, w.id;

-- Whoever may read all that belongs to workflows goes on to be able to.
DO $$
DECLARE
    reader regrole;
BEGIN
    FOR reader IN
        SELECT DISTINCT granted.grantee::regrole
          FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) granted
         WHERE c.oid = 'workflow'::regclass AND granted.privilege_type = 'SELECT'
           AND granted.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE format('GRANT SELECT ON machine_hold, self_enrolment TO %s', reader);
    END LOOP;
END $$;
