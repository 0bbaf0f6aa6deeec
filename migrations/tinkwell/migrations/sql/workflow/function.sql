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

-- Writes what can be written without waiting for anybody, and returns that, with the revision of the last event of
-- each. It is called by a statement that is a transaction of its own: then neither a lock nor a revision ever waits for
-- whoever reports. The order is that in which it is told: an end before what it does to its workflow, and this before
-- the start of the next action. Of one workflow there may be a start, a success, or both in this order. Plans are made
-- once: what they are made for is always a few rows, found by their keys. The revisions that it returns are looked for
-- between two numbers that stay: what currval says may change at any moment, so all partitions of the log would be made
-- ready to be searched.
CREATE OR REPLACE FUNCTION move_actions(actor text, wanted jsonb)
RETURNS TABLE (action_id uuid, remaining_seconds double precision, revision bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    moves action_move[] := ARRAY (SELECT m FROM jsonb_populate_recordset(NULL::action_move, wanted) m);
    free  uuid[];
    begun uuid;
    drawn bigint;
    latest bigint;
    -- What there is to do at all: a report alone does little of it, and each statement costs as much as what it does.
    starts    boolean;
    successes boolean;
    begins    boolean;
    ends      boolean;
    vacates   boolean;
BEGIN
    actor := set_config('tinkwell.actor', actor, true);
    free := ARRAY (
        SELECT w.id FROM workflow w
         WHERE w.id IN (SELECT workflow_id FROM unnest(moves)) AND w.deleted_at IS NULL
           FOR NO KEY UPDATE SKIP LOCKED
    );
    -- A statement of its own, because it must see what was committed before the lock was had.
    SELECT array_agg(m), bool_or(m.state = 'RUNNING'), bool_or(m.state <> 'RUNNING'), bool_or(m.begins), bool_or(m.ends),
           bool_or(m.vacates)
      INTO moves, starts, successes, begins, ends, vacates
      FROM unnest(moves) m
     WHERE m.workflow_id = ANY (free) AND m.workflow_id NOT IN (
        SELECT o.workflow_id
          FROM unnest(moves) o JOIN workflow w ON w.id = o.workflow_id JOIN action a ON a.id = o.action_id
          LEFT JOIN machine_hold h ON h.worker_id = a.worker_id AND h.workflow_id = a.workflow_id
         WHERE w.version <> o.workflow_version OR a.version <> o.action_version
            OR h.lease_id IS DISTINCT FROM o.held_lease_id OR h.action_id IS DISTINCT FROM o.held_action_id);
    IF moves IS NULL THEN
        RETURN;
    END IF;

    IF begins THEN
        FOR begun IN SELECT workflow_id FROM unnest(moves) m WHERE m.begins LOOP
            -- Its machines may be taken, and that must not undo the rest.
            BEGIN
                UPDATE workflow
                   SET state = 'RUNNING', started_at = moment.at,
                       deadline_at = CASE WHEN global_timeout_seconds > 0
                                          THEN moment.at + make_interval(secs => global_timeout_seconds) END
                  FROM (SELECT clock_timestamp() AS at) moment
                 WHERE id = begun;
            EXCEPTION WHEN check_violation OR serialization_failure THEN
                moves := ARRAY (SELECT m FROM unnest(moves) m WHERE m.workflow_id <> begun);
            END;
        END LOOP;
        IF cardinality(moves) = 0 THEN
            RETURN;
        END IF;
    END IF;
    IF successes THEN
        UPDATE action a
           SET state = m.state, message = m.message, exit_code = m.exit_code, finished_at = clock_timestamp(),
               retry_at = NULL
          FROM unnest(moves) m
         WHERE a.id = m.action_id AND m.state <> 'RUNNING';
        UPDATE workflow w
           SET completed_actions = m.completed
          FROM unnest(moves) m
         WHERE w.id = m.workflow_id AND m.completed IS NOT NULL AND NOT m.ends;
    END IF;
    IF vacates THEN
        UPDATE machine_hold h
           SET action_id = NULL
          FROM unnest(moves) m
         WHERE m.vacates AND h.workflow_id = m.workflow_id AND h.action_id = m.action_id;
    END IF;
    IF ends THEN
        UPDATE workflow w
           SET state = 'SUCCEEDED', completed_actions = m.completed, finished_at = clock_timestamp()
          FROM unnest(moves) m
         WHERE w.id = m.workflow_id AND m.ends;
    END IF;
    IF starts THEN
        UPDATE machine_hold h
           SET lease_id = m.lease_id, action_id = CASE WHEN m.lease_id IS NOT NULL THEN a.id END
          FROM unnest(moves) m JOIN action a ON a.id = m.action_id
         WHERE m.state = 'RUNNING' AND h.worker_id = a.worker_id AND h.workflow_id = a.workflow_id
           AND (h.lease_id IS NOT NULL OR m.lease_id IS NOT NULL);
        UPDATE action a
           SET state = m.state, attempt = m.attempt, message = m.message, exit_code = NULL,
               started_at = moment.at, finished_at = NULL, retry_at = NULL,
               -- least leaves out whichever limit there is not.
               deadline_at = least(CASE WHEN a.timeout_seconds > 0
                                        THEN moment.at + make_interval(secs => a.timeout_seconds) END,
                                   w.deadline_at)
          FROM (SELECT clock_timestamp() AS at) moment, unnest(moves) m JOIN workflow w ON w.id = m.workflow_id
         WHERE a.id = m.action_id AND m.state = 'RUNNING';
    END IF;
    INSERT INTO action_status (workflow_id, action_id, task_name, action_name, worker_id, state, attempt, seconds,
                               message, exit_code)
    SELECT m.workflow_id, a.id, a.task_name, a.name, a.worker_id, m.state, m.attempt, m.seconds, m.message, m.exit_code
      FROM unnest(moves) WITH ORDINALITY m JOIN action a ON a.id = m.action_id
     ORDER BY m.ordinality;

    -- The events are written now, and not when the transaction commits, which it does next.
    drawn := coalesce(pg_sequence_last_value('events_revision'), 0);
    SET CONSTRAINTS ALL IMMEDIATE;
    latest := currval('events_revision');
    RETURN QUERY
    SELECT a.id,
           CASE m.state WHEN 'RUNNING' THEN CAST(extract(epoch FROM a.deadline_at - a.started_at) AS double precision) END,
           e.revision
      FROM unnest(moves) m JOIN action a ON a.id = m.action_id
      JOIN (SELECT resource_id, version, revision FROM events
             WHERE revision > drawn AND revision <= latest) e
        ON (e.resource_id, e.version) = (CASE m.state WHEN 'RUNNING' THEN m.action_id ELSE m.workflow_id END,
                                         CASE m.state WHEN 'RUNNING' THEN m.action_version ELSE m.workflow_version END + 1);
END $$;

REVOKE ALL ON FUNCTION
    check_transition, check_retry, check_workflow_size, hold_machines, write_workflow_event, write_action_event, move_actions
FROM PUBLIC;
