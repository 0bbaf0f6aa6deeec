DROP TRIGGER action_retry ON action;
DROP FUNCTION check_retry;

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
        json_member('deleted_at', rfc3339(w.deleted_at)), json_member('data', CASE WHEN with_data THEN w.data END),
        '}'
    )::json
$$;

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
        json_member('finished_at', rfc3339(a.finished_at)), '}'
    )::json
$$;

ALTER TABLE workflow DROP on_timeout, DROP on_failure, DROP recovers;
ALTER TABLE action DROP retries, DROP retry_delay_seconds, DROP retry_at, DROP reboots;
