-- The JSON shape of each resource, built in one place: events carry it, and the command line prints the same. Every event
-- pays for it, so it is put together as text, by functions that become part of the plan of whatever calls them.

CREATE FUNCTION rfc3339(moment timestamptz) RETURNS json
LANGUAGE sql STABLE STRICT
AS $$ SELECT to_json(to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) $$;

-- `, "key": value`, or NULL for a value that is NULL, which concat leaves out.
CREATE FUNCTION json_member(key text, value anyelement) RETURNS text
LANGUAGE sql STABLE
AS $$ SELECT ', "' || key || '": ' || to_json(value) $$;

CREATE FUNCTION hardware_shape(h hardware) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": ', to_json(h.id), json_member('version', h.version), json_member('metadata', h.metadata),
        json_member('network', h.network), json_member('created_at', rfc3339(h.created_at)),
        json_member('updated_at', rfc3339(h.updated_at)), json_member('deleted_at', rfc3339(h.deleted_at)), '}'
    )::json
$$;

CREATE FUNCTION template_shape(t template) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": ', to_json(t.id), json_member('name', t.name), json_member('version', t.version),
        json_member('data', t.data), json_member('created_at', rfc3339(t.created_at)),
        json_member('updated_at', rfc3339(t.updated_at)), json_member('deleted_at', rfc3339(t.deleted_at)), '}'
    )::json
$$;

-- The rendered template belongs to the creation of a workflow; its later events leave it out.
CREATE FUNCTION workflow_shape(w workflow, with_data boolean) RETURNS json
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

CREATE FUNCTION action_shape(a action) RETURNS json
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
