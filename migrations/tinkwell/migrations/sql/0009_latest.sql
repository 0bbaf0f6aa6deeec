-- The function of 0006, but for how it finds the revisions that it returns: what currval says may change at any moment, so
-- all partitions of the log were made ready to be searched, for each report. Between two numbers that stay it is one or two.
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
