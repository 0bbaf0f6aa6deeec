"""Checks PostgreSQL's catalogue for changes that would silently falsify the log, before the server relies on it.

The database itself refuses to rewrite the log. Only an owner or a superuser can make the changes that are checked here.
They cause no error: events would be missing, or have another order than their commits.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import asyncpg

Fetch = Callable[..., Awaitable[Sequence[asyncpg.Record]]]

# Without these triggers, changes of a table make no events, or events of a wrong version. A revision that renames one
# declares by its oldest release that earlier releases may not run on it.
TRIGGERS: Mapping[str, tuple[str, ...]] = {
    "action": ("action_event", "action_identity", "action_truncate", "action_version"),
    "application": ("application_event", "application_identity", "application_truncate", "application_version"),
    "charm": ("charm_event", "charm_identity", "charm_truncate", "charm_version"),
    "chart": ("chart_event", "chart_identity", "chart_truncate", "chart_version"),
    "events": ("events_kept", "events_truncate"),
    "hardware": ("hardware_event", "hardware_identity", "hardware_truncate", "hardware_version"),
    "lifecycle": ("lifecycle_event", "lifecycle_identity", "lifecycle_truncate", "lifecycle_version"),
    "namespace": ("namespace_event", "namespace_identity", "namespace_truncate", "namespace_version"),
    "node": ("node_event", "node_identity", "node_truncate", "node_version"),
    "operation": ("operation_event", "operation_identity", "operation_truncate", "operation_version"),
    "relation": ("relation_event", "relation_identity", "relation_truncate", "relation_version"),
    "relation_bag": ("relation_bag_event", "relation_bag_identity", "relation_bag_truncate"),
    "release": ("release_event", "release_identity", "release_truncate", "release_version"),
    "release_revision": ("release_revision_identity", "release_revision_version"),
    "secret": ("secret_event", "secret_identity", "secret_truncate", "secret_version"),
    "step": ("step_event", "step_identity", "step_truncate", "step_version"),
    "storage": ("storage_event", "storage_identity", "storage_truncate", "storage_version"),
    "task": ("task_event", "task_identity", "task_truncate", "task_version"),
    "template": ("template_event", "template_identity", "template_truncate", "template_version"),
    "unit": ("unit_event", "unit_identity", "unit_truncate", "unit_version"),
    "unit_event": ("unit_event_event", "unit_event_identity", "unit_event_truncate", "unit_event_version"),
    "workflow": ("workflow_event", "workflow_identity", "workflow_truncate", "workflow_version"),
}
_SEQUENCE = """
    SELECT format('the sequence events_revision %s, and revisions must be drawn one by one, each once: run `%s`',
                  fault.text, fault.remedy)
      FROM pg_sequence s
      JOIN pg_class c ON c.oid = s.seqrelid
     CROSS JOIN LATERAL (VALUES
           (s.seqcache <> 1, 'has CACHE ' || s.seqcache, 'ALTER SEQUENCE events_revision CACHE 1'),
           (s.seqincrement <> 1, 'has INCREMENT ' || s.seqincrement, 'ALTER SEQUENCE events_revision INCREMENT 1'),
           (s.seqcycle, 'has CYCLE', 'ALTER SEQUENCE events_revision NO CYCLE'),
           (s.seqtypid <> 'bigint'::regtype, 'is no bigint', 'ALTER SEQUENCE events_revision AS bigint'),
           (c.relpersistence <> 'p', 'is UNLOGGED', 'ALTER SEQUENCE events_revision SET LOGGED'),
           (NOT EXISTS (SELECT FROM pg_depend d
                         WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'a'
                           AND d.refobjid = 'events'::regclass),
            'belongs to another table', 'ALTER SEQUENCE events_revision OWNED BY events.revision')
           ) AS fault (is_there, text, remedy)
     WHERE s.seqrelid = 'events_revision'::regclass AND fault.is_there
"""
_REST = r"""
    WITH ours AS (
        SELECT c.oid, c.oid::regclass::text AS name, c.relpersistence, c.relname
          FROM pg_class c
         WHERE c.oid = ANY (SELECT to_regclass(name)::oid FROM unnest($1::text[]) AS name)
            OR c.oid IN ('event_history'::regclass, 'hardware_address'::regclass)
            OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'events'::regclass)
    )
    SELECT 'revisions do not come from the sequence events_revision: run '
           || '`ALTER TABLE events ALTER revision SET DEFAULT nextval(''events_revision'')`'
     WHERE NOT EXISTS (
           SELECT FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
            WHERE d.adrelid = 'events'::regclass AND a.attname = 'revision'
              AND pg_get_expr(d.adbin, d.adrelid) ~ '^nextval\(''([^'']+\.)?events_revision''::regclass\)$')
    UNION ALL
    SELECT format('the trigger %s of %s is disabled, and changes would be lost without a trace: '
                  'run `ALTER TABLE %s ENABLE %s TRIGGER %I`',
                  t.tgname, o.name, o.name, CASE WHEN t.tgisinternal THEN '' ELSE 'ALWAYS' END, t.tgname)
      FROM pg_trigger t JOIN ours o ON o.oid = t.tgrelid
     WHERE t.tgenabled IN ('D', 'R') AND t.tgparentid = 0
    UNION ALL
    SELECT format('%s has no trigger %s, and changes would be lost without a trace: '
                  'restore it from a dump of the schema',
                  wanted.name, wanted.trigger_name)
      FROM unnest($2::text[], $3::text[]) AS wanted (name, trigger_name)
     WHERE NOT EXISTS (SELECT FROM pg_trigger t
                        WHERE t.tgrelid = to_regclass(wanted.name) AND t.tgname = wanted.trigger_name)
    UNION ALL
    SELECT format('the rule %s of %s changes what is written: run `DROP RULE %I ON %s`',
                  r.rulename, o.name, r.rulename, o.name)
      FROM pg_rewrite r JOIN ours o ON o.oid = r.ev_class
    UNION ALL
    SELECT format('row security keeps rows of %s from this role: run `ALTER TABLE %s DISABLE ROW LEVEL SECURITY`',
                  o.name, o.name)
      FROM ours o WHERE row_security_active(o.oid)
    UNION ALL
    SELECT format('%s is UNLOGGED, and would be empty after a crash: run `ALTER TABLE %s SET LOGGED`', o.name, o.name)
      FROM ours o WHERE o.relpersistence <> 'p'
"""
_HIGHEST = "SELECT coalesce(max(revision), 0) AS revision FROM events"
_DRAWN = "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS revision FROM events_revision"


async def faults(fetch: Fetch) -> list[str]:
    """Return a sentence for each fault of the log that says what to do. `fetch` runs one statement."""
    return await faults_of_schema(fetch) + await _set_back(fetch)


async def faults_of_schema(fetch: Fetch) -> list[str]:
    """Return the faults that the catalogue shows."""
    names = [(table, trigger) for table, triggers in TRIGGERS.items() for trigger in triggers]
    found = await fetch(_SEQUENCE)
    rest = await fetch(_REST, list(TRIGGERS), [table for table, _ in names], [trigger for _, trigger in names])
    return [str(row[0]) for row in (*found, *rest)]


async def faults_of_sequence(fetch: Fetch) -> list[str]:
    """Return the faults of the sequence, which decides whether a missing revision may still come."""
    return [str(row[0]) for row in await fetch(_SEQUENCE)]


async def _set_back(fetch: Fetch) -> list[str]:
    # The highest revision is read first, because the sequence only grows.
    highest = (await fetch(_HIGHEST))[0][0]
    drawn = (await fetch(_DRAWN))[0][0]
    if drawn >= highest:
        return []
    text = (
        f"the sequence events_revision is at {drawn}, and there are events up to {highest}, so that revisions would be "
        f"drawn twice: run `SELECT setval('events_revision', {highest})`"
    )
    return [text]
