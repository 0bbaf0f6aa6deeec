-- What is left of workflows that are over is let go, since the former rule knows no such holds.
DELETE FROM machine_hold h USING workflow w
 WHERE w.id = h.workflow_id AND (w.state <> 'RUNNING' OR w.deleted_at IS NOT NULL);

CREATE OR REPLACE FUNCTION hold_machines() RETURNS trigger
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

DROP VIEW busy_machine;
ALTER TABLE machine_hold DROP COLUMN lease_id, DROP COLUMN action_id;
DELETE FROM lease;
ALTER TABLE lease
    DROP COLUMN token,
    DROP COLUMN id,
    DROP COLUMN owner,
    DROP COLUMN engine,
    DROP COLUMN acquired_at,
    DROP COLUMN expires_at,
    ADD COLUMN name       text PRIMARY KEY,
    ADD COLUMN owner      text NOT NULL,
    ADD COLUMN token      bigint NOT NULL,
    ADD COLUMN expires_at timestamptz NOT NULL;
