-- The JSON shape of each resource, built in one place: events carry it, and the command line prints the same.

CREATE FUNCTION rfc3339(moment timestamptz) RETURNS json
LANGUAGE sql STABLE STRICT
AS $$ SELECT to_json(to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) $$;

CREATE FUNCTION hardware_shape(h hardware) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT json_object_agg(key, value) FROM (VALUES
        ('id', to_json(h.id)), ('version', to_json(h.version)), ('metadata', h.metadata::json),
        ('network', h.network::json), ('created_at', rfc3339(h.created_at)), ('updated_at', rfc3339(h.updated_at)),
        ('deleted_at', rfc3339(h.deleted_at))
    ) AS shape (key, value) WHERE value IS NOT NULL
$$;

CREATE FUNCTION template_shape(t template) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT json_object_agg(key, value) FROM (VALUES
        ('id', to_json(t.id)), ('name', to_json(t.name)), ('version', to_json(t.version)), ('data', to_json(t.data)),
        ('created_at', rfc3339(t.created_at)), ('updated_at', rfc3339(t.updated_at)),
        ('deleted_at', rfc3339(t.deleted_at))
    ) AS shape (key, value) WHERE value IS NOT NULL
$$;

-- The rendered template belongs to the creation of a workflow; its later events leave it out.
CREATE FUNCTION workflow_shape(w workflow, with_data boolean) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT json_object_agg(key, value) FROM (VALUES
        ('id', to_json(w.id)), ('template_id', to_json(w.template_id)), ('template_name', to_json(w.template_name)),
        ('hardware', w.devices::json), ('state', to_json(w.state)), ('version', to_json(w.version)),
        ('total_actions', to_json(w.total_actions)), ('completed_actions', to_json(w.completed_actions)),
        ('global_timeout_seconds', to_json(w.global_timeout_seconds)), ('cause', w.cause::json),
        ('created_at', rfc3339(w.created_at)), ('updated_at', rfc3339(w.updated_at)),
        ('started_at', rfc3339(w.started_at)), ('finished_at', rfc3339(w.finished_at)),
        ('deleted_at', rfc3339(w.deleted_at)), ('data', CASE WHEN with_data THEN to_json(w.data) END)
    ) AS shape (key, value) WHERE value IS NOT NULL
$$;

CREATE FUNCTION action_shape(a action) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT json_object_agg(key, value) FROM (VALUES
        ('id', to_json(a.id)), ('workflow_id', to_json(a.workflow_id)), ('index', to_json(a.action_index)),
        ('task_name', to_json(a.task_name)), ('name', to_json(a.name)), ('image', to_json(a.image)),
        ('timeout_seconds', to_json(a.timeout_seconds)), ('command', to_json(a.command)),
        ('on_timeout', to_json(a.on_timeout)), ('on_failure', to_json(a.on_failure)),
        ('worker_id', to_json(a.worker_id)), ('volumes', to_json(a.volumes)), ('environment', to_json(a.environment)),
        ('pid', to_json(a.pid)), ('state', to_json(a.state)), ('attempt', to_json(a.attempt)),
        ('version', to_json(a.version)), ('message', to_json(a.message)), ('exit_code', to_json(a.exit_code)),
        ('created_at', rfc3339(a.created_at)), ('updated_at', rfc3339(a.updated_at)),
        ('started_at', rfc3339(a.started_at)), ('finished_at', rfc3339(a.finished_at))
    ) AS shape (key, value) WHERE value IS NOT NULL
$$;
