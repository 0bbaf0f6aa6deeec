-- Attempts that are repeated, actions that reboot their machine, and workflows that recover others.

ALTER TABLE action
    ADD retries integer NOT NULL DEFAULT 0,
    ADD retry_delay_seconds integer NOT NULL DEFAULT 5,
    ADD retry_at timestamptz,
    ADD reboots boolean NOT NULL DEFAULT false;

-- The templates that are to recover it are told by name, since they may come and go before they are needed. The workflow
-- that it recovers may be removed by hand, so nothing refers to its row.
ALTER TABLE workflow
    ADD on_timeout text NOT NULL DEFAULT '',
    ADD on_failure text NOT NULL DEFAULT '',
    ADD recovers uuid;

-- check_transition lets an action wait again; it may do so as often as it has retries, whoever writes.
CREATE FUNCTION check_retry() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF NEW.attempt <= NEW.retries THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'action % has no attempt left: % of % are used', NEW.id, NEW.attempt, NEW.retries + 1
        USING ERRCODE = 'check_violation', CONSTRAINT = 'action_transition', TABLE = TG_TABLE_NAME;
END $$;
CREATE TRIGGER action_retry BEFORE UPDATE OF state ON action FOR EACH ROW
    WHEN (OLD.state = 'RUNNING' AND NEW.state = 'PENDING') EXECUTE FUNCTION check_retry();

CREATE OR REPLACE FUNCTION workflow_shape(w workflow, with_data boolean) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": ', to_json(w.id), json_member('template_id', w.template_id),
        json_member('template_name', w.template_name), json_member('hardware', w.devices),
        json_member('state', w.state), json_member('version', w.version),
        json_member('total_actions', w.total_actions), json_member('completed_actions', w.completed_actions),
        json_member('global_timeout_seconds', w.global_timeout_seconds), json_member('cause', w.cause),
        json_member('created_at', rfc3339(w.created_at)), json_member('updated_at', rfc3339(w.updated_at)),
        json_member('started_at', rfc3339(w.started_at)), json_member('finished_at', rfc3339(w.finished_at)),
        json_member('deleted_at', rfc3339(w.deleted_at)), json_member('on_timeout', nullif(w.on_timeout, '')),
        json_member('on_failure', nullif(w.on_failure, '')), json_member('recovers', w.recovers),
        json_member('data', CASE WHEN with_data THEN w.data END),
        '}'
    )::json
$$;

-- When the next attempt is due is told of an action that waits for it only.
CREATE OR REPLACE FUNCTION action_shape(a action) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": ', to_json(a.id), json_member('workflow_id', a.workflow_id), json_member('index', a.action_index),
        json_member('task_name', a.task_name), json_member('name', a.name), json_member('image', a.image),
        json_member('timeout_seconds', a.timeout_seconds), json_member('command', a.command),
        json_member('on_timeout', a.on_timeout), json_member('on_failure', a.on_failure),
        json_member('worker_id', a.worker_id), json_member('volumes', a.volumes),
        json_member('environment', a.environment), json_member('pid', a.pid), json_member('state', a.state),
        json_member('attempt', a.attempt), json_member('version', a.version), json_member('message', a.message),
        json_member('exit_code', a.exit_code), json_member('created_at', rfc3339(a.created_at)),
        json_member('updated_at', rfc3339(a.updated_at)), json_member('started_at', rfc3339(a.started_at)),
        json_member('finished_at', rfc3339(a.finished_at)), json_member('retries', a.retries),
        json_member('retry_delay_seconds', a.retry_delay_seconds), json_member('reboots', a.reboots),
        json_member('retry_at', rfc3339(CASE WHEN a.state = 'PENDING' THEN a.retry_at END)), '}'
    )::json
$$;
