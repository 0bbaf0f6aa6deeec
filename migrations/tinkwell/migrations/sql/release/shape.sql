-- Releases, their operations, nodes and steps as JSON. Documents are left out: an event stays small, whatever is installed.

CREATE OR REPLACE FUNCTION release_shape(r release) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', r.id, '", "namespace": "', r.namespace, '", "name": "', r.name, '", "state": "', r.state,
        '", "version": ', r.version, ', "revision": ', r.revision, ', "latest_revision": ', r.latest_revision,
        ', "operation_id": "', r.operation_id, '"', ', "engine": ' || to_json(nullif(r.engine, '')),
        ', "description": ' || to_json(nullif(r.description, '')),
        ', "chart_name": ' || to_json(nullif(r.chart_name, '')),
        ', "chart_version": ' || to_json(nullif(r.chart_version, '')),
        ', "drifted": ', to_json(r.drift <> ''), time_member('created_at', r.created_at),
        time_member('updated_at', r.updated_at), time_member('deleted_at', r.deleted_at), '}'
    )::json
$$;

-- The release is named as well, since an operation says nothing to anybody without it.
CREATE OR REPLACE FUNCTION operation_shape(o operation) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', o.id, '", "release_id": "', o.release_id, '", "namespace": "', r.namespace,
        '", "release_name": "', r.name, '", "revision": ', o.revision, ', "kind": "', o.kind, '", "state": "', o.state,
        '", "phase": "', o.phase, '", "version": ', o.version, ', "cause": ' || o.cause::text, ', "actor": ',
        to_json(o.actor), ', "reason": ' || to_json(nullif(o.reason, '')), ', "follows": "' || o.follows || '"',
        ', "plan_of": "' || o.plan_of || '"',
        ', "total_nodes": ', o.total_nodes, ', "changed_nodes": ', o.changed_nodes, ', "failed_nodes": ',
        o.failed_nodes, ', "skipped_nodes": ', o.skipped_nodes, ', "cancel_requested": ',
        to_json(o.cancel_requested_at IS NOT NULL), ', "cancel_grace_seconds": ', o.cancel_grace_seconds,
        ', "cancel_reason": ' || to_json(nullif(o.cancel_reason, '')), time_member('created_at', o.created_at),
        time_member('updated_at', o.updated_at), time_member('started_at', o.started_at),
        time_member('finished_at', o.finished_at), '}'
    )::json
      FROM (SELECT) one LEFT JOIN release r ON r.id = o.release_id
$$;

CREATE OR REPLACE FUNCTION node_shape(n node) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', n.id, '", "operation_id": "', n.operation_id, '", "release_id": "', n.release_id, '", "path": ',
        to_json(n.path), ', "kind": "', n.kind, '", "task": "', n.task, '", "ordinal": ', n.ordinal, ', "batch": ',
        n.batch, ', "state": "', n.state, '", "changed": ', to_json(n.changed), ', "message": ', to_json(n.message),
        ', "version": ', n.version, time_member('created_at', n.created_at), time_member('updated_at', n.updated_at),
        time_member('started_at', n.started_at), time_member('finished_at', n.finished_at), '}'
    )::json
$$;

CREATE OR REPLACE FUNCTION step_shape(s step) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', s.id, '", "node_id": "', s.node_id, '", "operation_id": "', s.operation_id, '", "release_id": "',
        s.release_id, '", "path": ', to_json(s.path), ', "ordinal": ', s.ordinal, ', "kind": "', s.kind, '", "name": ',
        to_json(s.name), ', "description": ' || to_json(nullif(s.description, '')),
        ', "image": ' || to_json(nullif(s.image, '')), ', "entrypoint": ' || to_json(nullif(s.entrypoint, '')),
        ', "state": "', s.state, '", "attempt": ', s.attempt, ', "exit_code": ' || s.exit_code, ', "message": ',
        to_json(s.message), ', "version": ', s.version, time_member('created_at', s.created_at),
        time_member('updated_at', s.updated_at), time_member('started_at', s.started_at),
        time_member('finished_at', s.finished_at), '}'
    )::json
$$;

REVOKE ALL ON FUNCTION release_shape, operation_shape, node_shape, step_shape FROM PUBLIC;
