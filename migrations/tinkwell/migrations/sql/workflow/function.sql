-- What happens around each change of workflows and actions, and what reports do to them.

-- The same tables as in tinkwell.core.workflow.lifecycle; a test holds them together.
CREATE OR REPLACE FUNCTION check_transition() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF NEW.state = OLD.state
       OR (OLD.state = 'PENDING' AND NEW.state IN ('RUNNING', 'CANCELLED'))
       OR (OLD.state = 'RUNNING' AND NEW.state IN ('SUCCEEDED', 'FAILED', 'TIMEOUT', 'CANCELLED'))
       OR (OLD.state = 'RUNNING' AND NEW.state = 'PENDING' AND TG_TABLE_NAME = 'action') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% % may not go from % to %', TG_TABLE_NAME, OLD.id, OLD.state, NEW.state
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_transition', TABLE = TG_TABLE_NAME;
END $$;

-- check_transition lets an action wait again; it may do so as often as it has retries, whoever writes.
CREATE OR REPLACE FUNCTION check_retry() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF NEW.attempt <= NEW.retries THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'action % has no attempt left: % of % are used', NEW.id, NEW.attempt, NEW.retries + 1
        USING ERRCODE = 'check_violation', CONSTRAINT = 'action_transition', TABLE = TG_TABLE_NAME;
END $$;

CREATE OR REPLACE FUNCTION check_workflow_size() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF octet_length(NEW.devices::text) + octet_length(NEW.data) <= 3145728 THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'workflow % has more than 3 MiB of devices and data together', NEW.id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'workflow_size', TABLE = TG_TABLE_NAME;
END $$;

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

-- What no longer exists is told as it was, one version on.
CREATE OR REPLACE FUNCTION write_workflow_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    kind text := change_type(TG_OP, OLD.deleted_at, NEW.deleted_at);
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.state <> OLD.state AND coalesce(OLD.deleted_at, NEW.deleted_at) IS NULL THEN
        kind := CASE NEW.state WHEN 'RUNNING' THEN 'WORKFLOW_STARTED' ELSE 'WORKFLOW_' || NEW.state END;
    ELSIF kind = 'UPDATED' AND NEW.completed_actions > OLD.completed_actions THEN
        kind := 'WORKFLOW_INPROGRESS';
    ELSIF kind IS NULL THEN
        RETURN NULL;
    ELSIF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    END IF;
    PERFORM write_event('WORKFLOW', NEW.id, NULL, kind, NEW.version, workflow_shape(NEW, kind = 'CREATED'));
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION write_action_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    kind text := change_type(TG_OP, NULL, NULL);
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.state <> OLD.state THEN
        kind := CASE NEW.state WHEN 'RUNNING' THEN 'ACTION_STARTED' WHEN 'PENDING' THEN 'ACTION_RETRYING'
                               ELSE 'ACTION_' || NEW.state END;
    ELSIF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.version := OLD.version + 1;
    END IF;
    PERFORM write_event('ACTION', NEW.id, NEW.workflow_id, kind, NEW.version, action_shape(NEW));
    RETURN NULL;
END $$;

REVOKE ALL ON FUNCTION
    check_transition, check_retry, check_workflow_size, hold_machines, write_workflow_event, write_action_event
FROM PUBLIC;
