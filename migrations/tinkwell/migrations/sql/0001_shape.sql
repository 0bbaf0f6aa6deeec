-- The JSON shape of each resource, built in one place: events carry it, and the command line prints the same. Every event
-- pays for it, so it is put together as text, by functions that become part of the plan of whatever calls them. What needs
-- no escaping goes to concat as it is: a session makes each function that is named anew ready for every change, and that
-- costs more than what the function does. A downgrade to here brings these functions back.

-- `, "key": "2026-05-17T08:00:00.000000Z"`, or NULL for a moment that is NULL, which concat leaves out.
CREATE OR REPLACE FUNCTION time_member(key text, moment timestamptz) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT to_char(moment AT TIME ZONE 'UTC', '", \"' || key || '\": \""YYYY-MM-DD"T"HH24:MI:SS.US"Z\""')
$$;

CREATE OR REPLACE FUNCTION hardware_shape(h hardware) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', h.id, '", "version": ', h.version, ', "metadata": ', h.metadata, ', "network": ', h.network,
        time_member('created_at', h.created_at), time_member('updated_at', h.updated_at),
        time_member('deleted_at', h.deleted_at), '}'
    )::json
$$;

CREATE OR REPLACE FUNCTION template_shape(t template) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', t.id, '", "name": ', to_json(t.name), ', "version": ', t.version, ', "data": ', to_json(t.data),
        time_member('created_at', t.created_at), time_member('updated_at', t.updated_at),
        time_member('deleted_at', t.deleted_at), '}'
    )::json
$$;

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
        time_member('deleted_at', w.deleted_at), ', "data": ' || to_json(CASE WHEN with_data THEN w.data END), '}'
    )::json
$$;

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
        time_member('finished_at', a.finished_at), '}'
    )::json
$$;
