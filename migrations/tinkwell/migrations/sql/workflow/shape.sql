-- Workflows and actions as JSON.

-- The rendered template belongs to the creation of a workflow; its later events leave it out.
CREATE OR REPLACE FUNCTION workflow_shape(w workflow, with_data boolean) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', w.id, '", "template_id": "', w.template_id, '", "template_name": ', to_json(w.template_name),
        ', "hardware": ', w.devices, ', "state": "', w.state, '", "version": ', w.version,
        ', "total_actions": ', w.total_actions, ', "completed_actions": ', w.completed_actions,
        ', "global_timeout_seconds": ', w.global_timeout_seconds, ', "cause": ' || w.cause::text,
        time_member('created_at', w.created_at), time_member('updated_at', w.updated_at),
        time_member('started_at', w.started_at), time_member('finished_at', w.finished_at),
        time_member('deleted_at', w.deleted_at), ', "on_timeout": ' || to_json(nullif(w.on_timeout, '')),
        ', "on_failure": ' || to_json(nullif(w.on_failure, '')), ', "recovers": "' || w.recovers || '"',
        ', "data": ' || to_json(CASE WHEN with_data THEN w.data END), '}'
    )::json
$$;

-- When the next attempt is due is told of an action that waits for it only.
CREATE OR REPLACE FUNCTION action_shape(a action) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', a.id, '", "workflow_id": "', a.workflow_id, '", "index": ', a.action_index,
        ', "task_name": ', to_json(a.task_name), ', "name": ', to_json(a.name), ', "image": ', to_json(a.image),
        ', "timeout_seconds": ', a.timeout_seconds, ', "command": ', to_json(a.command),
        ', "on_timeout": ', to_json(a.on_timeout), ', "on_failure": ', to_json(a.on_failure),
        ', "worker_id": "', a.worker_id, '", "volumes": ', to_json(a.volumes),
        ', "environment": ', to_json(a.environment), ', "pid": ', to_json(a.pid), ', "state": "', a.state,
        '", "attempt": ', a.attempt, ', "version": ', a.version, ', "message": ', to_json(a.message),
        ', "exit_code": ' || a.exit_code, time_member('created_at', a.created_at),
        time_member('updated_at', a.updated_at), time_member('started_at', a.started_at),
        time_member('finished_at', a.finished_at), ', "retries": ', a.retries,
        ', "retry_delay_seconds": ', a.retry_delay_seconds, ', "reboots": ', to_json(a.reboots),
        time_member('retry_at', CASE WHEN a.state = 'PENDING' THEN a.retry_at END), '}'
    )::json
$$;

REVOKE ALL ON FUNCTION workflow_shape, action_shape FROM PUBLIC;
