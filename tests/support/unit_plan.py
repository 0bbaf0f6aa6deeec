"""Many applications with units, as rows, and which indexes a query uses among them."""

import json
from collections.abc import Iterator
from typing import Any

COUNT = 600
TABLES = (
    *("namespace", "charm", "application", "unit", "unit_event", "relation", "relation_end", "relation_bag"),
    *("relation_member", "unit_relation", "unit_member", "storage"),
    *("secret", "secret_revision", "secret_grant", "secret_reader", "task"),
)
# An application in each namespace, whose units are peers.
FILL = f"""
    INSERT INTO namespace (name) SELECT 'n' || n FROM generate_series(1, {COUNT}) n;
    INSERT INTO charm (digest, name, kind, manifest, size)
    SELECT 'sha256:' || repeat(md5(n::text), 2), 'any', 'SCRIPTS', '{{}}', 0 FROM generate_series(1, {COUNT}) n;
    INSERT INTO application (namespace, name, charm)
    SELECT 'n' || n, 'web', 'sha256:' || repeat(md5(n::text), 2) FROM generate_series(1, {COUNT}) n;
    INSERT INTO unit (namespace, application_id, number, name, charm, charm_seen)
    SELECT a.namespace, a.id, n, 'web/' || n, a.charm, a.charm FROM application a, generate_series(0, 2) n;
    INSERT INTO unit_event (namespace, application_id, unit_id, unit, ordinal, kind, phase, state)
    SELECT u.namespace, u.application_id, u.id, u.name, n, 'update-status', 'OPERATION',
           CASE WHEN n = 5 AND random() < 0.1 THEN 'RUNNING' ELSE 'COMMITTED' END
      FROM unit u, generate_series(1, 5) n;
    INSERT INTO relation (namespace, number, interface, is_peer, ends)
    SELECT a.namespace, n, 'any', true, jsonb_build_array(n) FROM application a, generate_series(1, 2) n;
    INSERT INTO relation_end (relation_id, application_id, endpoint)
    SELECT r.id, a.id, 'e' || r.number FROM relation r JOIN application a ON a.namespace = r.namespace;
    INSERT INTO relation_bag (relation_id, owner)
    SELECT r.id, u.name FROM relation r JOIN unit u ON u.namespace = r.namespace;
    INSERT INTO relation_member (relation_id, unit_id)
    SELECT r.id, u.id FROM relation r JOIN unit u ON u.namespace = r.namespace;
    INSERT INTO unit_relation (relation_id, unit_id) SELECT relation_id, unit_id FROM relation_member;
    INSERT INTO unit_member (relation_id, unit_id, member_id)
    SELECT m.relation_id, m.unit_id, o.unit_id
      FROM relation_member m JOIN relation_member o USING (relation_id) WHERE o.unit_id <> m.unit_id;
    INSERT INTO storage (namespace, name, kind, number, application_id, unit_id, unit)
    SELECT u.namespace, 'data/' || u.number, 'data', u.number, u.application_id, u.id, u.name FROM unit u;
    INSERT INTO secret (namespace, name, application_id, unit_id, owner, label)
    SELECT u.namespace, left(md5(u.id::text), 20), u.application_id, u.id, u.name, 'l' FROM unit u;
    INSERT INTO secret_revision (secret_id, revision) SELECT id, n FROM secret, generate_series(1, 3) n;
    INSERT INTO secret_grant (secret_id, application_id, relation_id)
    SELECT s.id, s.application_id, r.id FROM secret s JOIN relation r ON r.namespace = s.namespace AND r.number = 1;
    INSERT INTO secret_reader (secret_id, unit_id, tracked, label)
    SELECT s.id, u.id, 1, 'm' || s.owner
      FROM secret s JOIN unit u ON u.application_id = s.application_id AND u.id <> s.unit_id;
    INSERT INTO task (namespace, application_id, unit_id, unit, kind, name, state, timeout_seconds)
    SELECT u.namespace, u.application_id, u.id, u.name, 'ACTION', 'a',
           CASE n WHEN 5 THEN 'PENDING' WHEN 4 THEN 'RUNNING' ELSE 'SUCCEEDED' END, 60
      FROM unit u, generate_series(1, 5) n;
    INSERT INTO task_line (task_id, number, line) SELECT id, n, '' FROM task, generate_series(1, 3) n;
    INSERT INTO deferred_notice (unit_id, key, ordinal, event, handler) SELECT id, '', 1, '{{}}', '' FROM unit;
    INSERT INTO unit_log (unit_id, ordinal, attempt, number, level, line) SELECT id, 1, 1, 1, 'INFO', '' FROM unit;
    INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions)
    SELECT gen_random_uuid(), gen_random_uuid(), '', '{{}}', '', 0 FROM generate_series(1, {COUNT});
    INSERT INTO machine_hold (worker_id, workflow_id) SELECT gen_random_uuid(), id FROM workflow;
    INSERT INTO lease (owner, engine, expires_at) SELECT 'owner ' || n, '', now() FROM generate_series(1, {COUNT}) n
"""


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", []):
        yield from _nodes(below)


def indexes(explained: str) -> set[str]:
    """Return the indexes that a plan uses; it may read no table from end to end."""
    nodes = list(_nodes(json.loads(explained)[0]["Plan"]))
    read = [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"]
    assert read == [], f"read from end to end: {read}"
    return {node["Index Name"] for node in nodes if "Index Name" in node}
