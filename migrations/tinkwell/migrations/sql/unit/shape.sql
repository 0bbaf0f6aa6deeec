-- Namespaces, charms, applications, units, their events, relations and storage as JSON. What bags and configurations hold
-- is left out, and so is what secrets hold, and what tasks are given and give back: whoever may watch may not read these.

CREATE OR REPLACE FUNCTION namespace_shape(n namespace) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', n.id, '", "name": "', n.name, '", "version": ', n.version, ', "update_status_seconds": ',
        n.update_status_seconds, ', "event_timeout_seconds": ', n.event_timeout_seconds, ', "retrying": ',
        to_json(n.is_retrying), time_member('created_at', n.created_at), time_member('updated_at', n.updated_at), '}'
    )::json
$$;

CREATE OR REPLACE FUNCTION charm_shape(c charm) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', c.id, '", "digest": "', c.digest, '", "name": ', to_json(c.name), ', "kind": "', c.kind,
        '", "summary": ', to_json(left(c.summary, 1000)), ', "size": ', c.size, ', "version": ', c.version,
        time_member('created_at', c.created_at), time_member('updated_at', c.updated_at), '}'
    )::json
$$;

CREATE OR REPLACE FUNCTION application_shape(a application) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', a.id, '", "namespace": "', a.namespace, '", "name": "', a.name, '", "life": "', a.life,
        '", "charm": "', a.charm, '", "charm_revision": ', a.charm_revision, ', "charm_name": ' || to_json(c.name),
        ', "kind": "' || c.kind || '"', ', "profile": "', a.profile, '", "config_version": ', a.config_version,
        ', "leader": "', coalesce(a.name || '/' || a.leader, ''), '", "term": ', a.term, ', "announced_term": ',
        a.announced_term, ', "status": {"name": "', a.status_name, '", "message": ', to_json(a.status_message),
        '}, "version": ', a.version, time_member('created_at', a.created_at),
        time_member('updated_at', a.updated_at), '}'
    )::json
      FROM (SELECT a.charm AS digest) own LEFT JOIN charm c USING (digest)
$$;

CREATE OR REPLACE FUNCTION unit_shape(u unit) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', u.id, '", "application_id": "', u.application_id, '", "namespace": "', u.namespace, '", "name": ',
        to_json(u.name), ', "number": ', u.number, ', "life": "', u.life, '", "phase": "', u.phase,
        '", "machine": "', u.machine_id, '", "anywhere": ', to_json(u.is_anywhere), ', "storage": ',
        coalesce((SELECT json_agg(s.name ORDER BY s.number) FROM storage s WHERE s.unit_id = u.id), '[]'),
        ', "status": {"name": "', u.status_name, '", "message": ', to_json(u.status_message),
        '}, "workload_version": ', to_json(u.workload_version), ', "forced": ', to_json(u.is_forced), ', "version": ',
        u.version, time_member('created_at', u.created_at), time_member('updated_at', u.updated_at), '}'
    )::json
$$;

CREATE OR REPLACE FUNCTION unit_event_shape(e unit_event) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', e.id, '", "application_id": "', e.application_id, '", "unit_id": "', e.unit_id,
        '", "namespace": "', e.namespace, '", "unit": ', to_json(e.unit), ', "kind": "', e.kind, '", "ordinal": ',
        e.ordinal, ', "attempt": ', e.attempt, ', "state": "', e.state, '", "phase": "', e.phase, '", "relation": ',
        CASE WHEN e.relation = 0 THEN 'null' ELSE concat(
            '{"number": ', e.relation, ', "endpoint": ', to_json(e.endpoint), ', "peer": ', to_json(e.is_peer),
            ', "application": ', to_json(e.remote_application), ', "unit": ', to_json(e.remote_unit),
            ', "departing_unit": ', to_json(e.departing_unit), '}') END,
        ', "storage": ', to_json(e.storage), ', "secret": ',
        CASE WHEN e.secret = '' THEN 'null'
             ELSE concat('{"id": ', to_json(e.secret), ', "revision": ', e.secret_revision, '}') END, ', "mirrored": ', to_json(e.is_mirrored), ', "echo": ',
        to_json(e.is_echo), ', "seen": {"config": ', e.seen_config, ', "charm": ', to_json(e.seen_charm),
        ', "term": ', e.seen_term, ', "bag": ', e.seen_bag, '}, "reason": "', e.reason, '", "leaving": "', e.leaving,
        '", "actor": ', to_json(e.actor), ', "cause": ', e.cause, ', "message": ', to_json(e.message),
        ', "deferred": ', e.deferred, ', "consumed": ', e.consumed, ', "version": ', e.version,
        time_member('created_at', e.created_at), time_member('updated_at', e.updated_at),
        time_member('started_at', e.started_at), time_member('finished_at', e.finished_at),
        time_member('retry_at', e.retry_at), '}'
    )::json
$$;

CREATE OR REPLACE FUNCTION relation_shape(r relation) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', r.id, '", "number": ', r.number, ', "namespace": "', r.namespace, '", "interface": ',
        to_json(r.interface), ', "peer": ', to_json(r.is_peer), ', "life": "', r.life, '", "ends": ', r.ends,
        ', "version": ', r.version, time_member('created_at', r.created_at), time_member('updated_at', r.updated_at),
        '}'
    )::json
$$;

CREATE OR REPLACE FUNCTION storage_shape(s storage) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', s.id, '", "namespace": "', s.namespace, '", "name": ', to_json(s.name), ', "kind": ',
        to_json(s.kind), ', "unit": ', to_json(s.unit), ', "machine": "', s.machine_id, '", "life": "', s.life,
        '", "attached": ', to_json(s.is_attached), ', "version": ', s.version,
        time_member('created_at', s.created_at), time_member('updated_at', s.updated_at), '}'
    )::json
$$;

CREATE OR REPLACE FUNCTION secret_shape(s secret) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', s.id, '", "application_id": "', s.application_id, '", "namespace": "', s.namespace, '", "name": "',
        s.name, '", "owner": ', to_json(s.owner), ', "label": ', to_json(s.label), ', "description": ',
        to_json(s.description), ', "rotation": "', s.rotation, '", "latest": ', s.latest, ', "grants": ',
        coalesce((SELECT json_agg(json_build_object('relation', coalesce(r.number, 0), 'application', a.name,
                                                    'unit', coalesce(u.name, '')) ORDER BY g.id)
                    FROM secret_grant g JOIN application a ON a.id = g.application_id
                    LEFT JOIN relation r ON r.id = g.relation_id LEFT JOIN unit u ON u.id = g.unit_id
                   WHERE g.secret_id = s.id), '[]'), ', "version": ', s.version,
        time_member('created_at', s.created_at), time_member('updated_at', s.updated_at),
        time_member('rotates_at', s.rotates_at), '}'
    )::json
$$;

CREATE OR REPLACE FUNCTION task_shape(t task) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT concat(
        '{"id": "', t.id, '", "application_id": "', t.application_id, '", "unit_id": "', t.unit_id,
        '", "namespace": "', t.namespace, '", "unit": ', to_json(t.unit), ', "kind": "', t.kind, '", "name": ',
        to_json(t.name), ', "state": "', t.state, '", "message": ', to_json(t.message), ', "timeout_seconds": ',
        t.timeout_seconds, ', "actor": ', to_json(t.actor), ', "cancelled": ', to_json(t.is_cancelled),
        ', "version": ', t.version, time_member('created_at', t.created_at), time_member('updated_at', t.updated_at),
        time_member('started_at', t.started_at), time_member('finished_at', t.finished_at), '}'
    )::json
$$;

REVOKE ALL ON FUNCTION
    namespace_shape, charm_shape, application_shape, unit_shape, unit_event_shape, relation_shape, storage_shape,
    secret_shape, task_shape
FROM PUBLIC;
