"""Reads a unit's ledger and its view by one statement: what it was told, and the state now."""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg

from tinkwell.core.unit import name as names
from tinkwell.core.unit.kinds import EventKind, EventState, Life, Membership, Phase, Profile
from tinkwell.core.unit.ledger import Ledger, MemberLedger, RelationLedger, Requests
from tinkwell.core.unit.unit_event import Seen, UnitEvent
from tinkwell.core.unit.view import MemberView, RelationView, View
from tinkwell.server.database.database import Fetch
from tinkwell.server.unit.store import ledger as document
from tinkwell.server.unit.store.delivery.row import ApplicationRow, EventRow, Loaded, Settings, UnitRow
from tinkwell.server.unit.store.secret import view as secret
from tinkwell.server.unit.store.task import view as task

_UNIT = """
    CAST(u.id AS text) AS id, CAST(u.application_id AS text) AS application_id, u.namespace, u.name, u.number, u.life,
    u.phase, coalesce(CAST(u.machine_id AS text), '') AS machine_id, u.is_anywhere,
    coalesce(CAST(u.lease_id AS text), '') AS lease_id, coalesce(u.charm, '') AS code, u.last_ordinal, u.removal_reason,
    u.removal_actor, u.is_forced, u.prepare_requested, u.finish_requested, u.metrics_requested,
    u.is_installed, u.is_started, u.is_stopped, u.is_removed, u.config_seen, coalesce(u.charm_seen, '') AS charm_seen,
    u.led_term, u.settings_term, CAST(u.plan AS text) AS plan, CAST(u.queue AS text) AS queue, u.prepare_seen,
    u.finish_seen, u.metrics_seen, coalesce(u.next_tick_at <= clock_timestamp(), false) AS is_tick_due,
    EXISTS (SELECT FROM busy_machine b WHERE b.worker_id = u.machine_id) AS is_held
"""
_APPLICATION = """
    a.name AS application, a.life AS application_life, a.profile, a.charm, c.kind AS charm_kind, a.config_version,
    a.leader, coalesce(w.name, '') AS leader_name, a.term, a.announced_term,
    a.removal_actor AS application_removal_actor, n.update_status_seconds, n.event_timeout_seconds, n.is_retrying
"""
EVENT = """
    CAST(e.id AS text) AS event_id, e.ordinal, e.attempt, e.state, e.kind, e.relation, e.endpoint,
    e.remote_application, e.remote_unit, e.departing_unit, e.storage, e.secret, e.secret_revision, e.is_mirrored,
    e.is_echo, e.seen_config, e.seen_charm, e.seen_term, e.seen_bag, e.lease_token, e.is_lost, e.message, e.reason,
    e.leaving, e.actor,
    CAST(extract(epoch FROM e.deadline_at - clock_timestamp()) AS double precision) AS remaining_seconds,
    CAST(extract(epoch FROM e.retry_at - clock_timestamp()) AS double precision) AS retry_in_seconds
"""
_STORAGES = """
    (SELECT CAST(json_agg(json_build_array(s.name, s.life, s.is_attached)) AS text) FROM storage s
      WHERE s.unit_id = u.id AND (s.is_attached OR s.kind = ANY (known.storages))) AS storages
"""
# What the unit was told. Members that only an event in flight refers to are left out. There may be very many members,
# and their names need no escaping, so the lists are built as text.
_TOLD = """
    (SELECT CAST(json_agg(json_build_array(
            r.number, t.is_created, t.is_broken, t.application_version, t.own_version,
            (SELECT CAST(concat('[', string_agg(concat(
                    '["', x.name, '",', m.seen_version, CASE WHEN m.is_older THEN ',true' END, ']'), ','), ']') AS json)
               FROM unit_member m JOIN unit x ON x.id = m.member_id
              WHERE m.unit_id = t.unit_id AND m.relation_id = t.relation_id AND m.is_told))) AS text)
       FROM unit_relation t JOIN relation r ON r.id = t.relation_id
      WHERE t.unit_id = u.id) AS told
"""
# A unit that leaves owes a relation the end of its events while it is IN, and a peer relation while it refers to any
# member. This is computed only for units that leave.
_OWES = """
    (x.life = 'DYING'
     AND CASE WHEN r.is_peer THEN EXISTS (SELECT FROM unit_member k WHERE k.unit_id = x.id AND k.relation_id = r.id)
              ELSE m.membership = 'IN' END)
"""
# Leaves out what units of one application see of each other if Juju does not show it. For a member that is IN and
# stays, only its name and two numbers are read.
_MEMBERS = f"""
    (SELECT CAST(concat('[', string_agg(concat(
            '["', x.name, '",', coalesce(b.version, 0), ',', m.entered,
            CASE WHEN x.life <> 'ALIVE' OR m.membership <> 'IN' THEN concat(
                ',"', m.membership, '",', CAST(x.life <> 'ALIVE' AS text), ',', CAST({_OWES} AS text), ',',
                CAST(x.is_forced AS text)) END, ']'), ','), ']') AS json)
       FROM relation_member m
       JOIN unit x ON x.id = m.unit_id
       LEFT JOIN relation_bag b ON b.relation_id = r.id AND b.owner = x.name
      WHERE m.relation_id = r.id AND m.unit_id <> u.id
        AND (r.is_peer OR x.application_id <> a.id OR a.profile = 'LITERAL'))
"""  # noqa: S608
_RELATIONS = f"""
    (SELECT CAST(json_agg(json_build_array(
            r.number, mine.endpoint, o.name, r.is_peer, r.life, o.life, coalesce(theirs.version, 0),
            coalesce(own.version, 0), me.membership, coalesce(me.entered, 0), r.removal_actor, {_MEMBERS})) AS text)
       FROM relation_end mine
       JOIN relation r ON r.id = mine.relation_id
       LEFT JOIN relation_end far ON far.relation_id = r.id AND far.application_id <> a.id
       JOIN application o ON o.id = coalesce(far.application_id, a.id)
       LEFT JOIN unit_relation t ON t.relation_id = r.id AND t.unit_id = u.id
       LEFT JOIN relation_member me ON me.relation_id = r.id AND me.unit_id = u.id
       LEFT JOIN relation_bag theirs ON theirs.relation_id = r.id AND theirs.owner = o.name
       LEFT JOIN relation_bag own ON own.relation_id = r.id AND own.owner = u.name
      WHERE mine.application_id = a.id
        AND (t.unit_id IS NOT NULL OR mine.endpoint = ANY (known.endpoints))) AS relations
"""  # noqa: S608
# From this, an agent that keeps files beside the rows knows which of its files are committed.
_COMMITTED = """
    coalesce((SELECT y.ordinal FROM unit_event y WHERE y.unit_id = u.id AND y.state = 'COMMITTED'
               ORDER BY y.ordinal DESC LIMIT 1), 0) AS committed_ordinal
"""
COLUMNS = ", ".join((_UNIT, _APPLICATION, EVENT, _STORAGES, _TOLD, _RELATIONS, _COMMITTED, secret.SECRETS, task.TASKS))
TABLES = """
           unit u
      JOIN application a ON a.id = u.application_id
      JOIN charm c ON c.digest = a.charm
      JOIN namespace n ON n.name = u.namespace
      JOIN charm known ON known.digest = coalesce(u.charm_seen, u.charm, a.charm)
      LEFT JOIN unit w ON w.application_id = a.id AND w.number = a.leader AND w.life <> 'DEAD'
      LEFT JOIN unit_event e ON e.unit_id = u.id AND e.state IN ('RUNNING', 'ERROR')
"""
LOAD = f"SELECT {COLUMNS} FROM {TABLES} WHERE u.id = $1::text::uuid"  # noqa: S608
# A unit with a thousand members is read for each of its events, and nearly all of its members are unchanged.
_KEPT = 16_384


async def load(fetch: Fetch, unit_id: str) -> Loaded | None:
    """Return all that a unit's next event depends on, or None if there is no such unit."""
    found = await fetch(LOAD, unit_id)
    return loaded_of(found[0]) if found else None


def loaded_of(found: asyncpg.Record) -> Loaded:
    """Read the columns."""
    relations, secrets = _list(found["relations"]), secret.rows_of(found["secrets"])
    return Loaded(
        unit=UnitRow(**{name: found[name] for name in UnitRow.__slots__} | {"phase": Phase(found["phase"])}),
        application=ApplicationRow(
            id=found["application_id"],
            name=found["application"],
            life=Life(found["application_life"]),
            charm=found["charm"],
            charm_kind=found["charm_kind"],
            leader=found["leader"],
            term=found["term"],
            announced_term=found["announced_term"],
            removal_actor=found["application_removal_actor"],
        ),
        settings=Settings(**{name: found[name] for name in Settings.__slots__}),
        ledger=_ledger(found, secrets),
        view=_view(found, relations, secrets),
        in_flight=_event(found) if found["event_id"] is not None else None,
        running_task=found["running_task"] or "",
        committed_ordinal=found["committed_ordinal"],
        removal_actors={each[0]: each[10] for each in relations if each[4] != Life.ALIVE},
    )


def _list(text: str | None) -> list[Any]:
    """Read an aggregated list. PostgreSQL returns NULL for an empty one."""
    return json.loads(text) if text is not None else []


def _ledger(found: asyncpg.Record, secrets: Sequence[Any]) -> Ledger:
    return Ledger(
        installed=found["is_installed"],
        started=found["is_started"],
        stopped=found["is_stopped"],
        removed=found["is_removed"],
        config_seen=found["config_seen"],
        charm_seen=found["charm_seen"],
        led_term=found["led_term"],
        settings_term=found["settings_term"],
        plan=document.load_plan(found["plan"]),
        queue=document.load_queue(found["queue"]),
        requests=Requests(prepared=found["prepare_seen"], finished=found["finish_seen"], metrics=found["metrics_seen"]),
        attached=frozenset(name for name, _, is_attached in _list(found["storages"]) if is_attached),
        relations={each[0]: _relation_ledger(*each[1:]) for each in _list(found["told"])},
        secrets=secret.ledgers(secrets),
    )


def _relation_ledger(
    is_created: bool, is_broken: bool, application_version: int, own_version: int, members: list[Any]
) -> RelationLedger:
    return RelationLedger(
        created=is_created,
        broken=is_broken,
        application_version=application_version,
        own_version=own_version,
        members={each[0]: _member_ledger(*each[1:]) for each in members},
    )


@functools.lru_cache(maxsize=_KEPT)
def _member_ledger(version: int, is_older: bool = False) -> MemberLedger:
    return MemberLedger(seen_version=version, is_older=is_older)


def _view(found: asyncpg.Record, relations: list[Any], secrets: Sequence[Any]) -> View:
    return View(
        unit=found["name"],
        application=found["application"],
        profile=Profile(found["profile"]),
        life=Life(found["life"]),
        phase=Phase(found["phase"]),
        application_life=Life(found["application_life"]),
        config_version=found["config_version"],
        charm=found["charm"],
        code=found["code"],
        is_held=found["is_held"],
        leader=found["leader_name"],
        term=found["term"],
        announced_term=found["announced_term"],
        requests=Requests(
            prepared=found["prepare_requested"], finished=found["finish_requested"], metrics=found["metrics_requested"]
        ),
        storages={name: Life(life) for name, life, _ in _list(found["storages"])},
        is_tick_due=found["is_tick_due"],
        relations={each[0]: _relation_view(each) for each in relations},
        secrets=secret.views(secrets),
        task=found["waiting_task"] or "",
    )


def _relation_view(found: list[Any]) -> RelationView:
    number, endpoint, application, is_peer, life, application_life, theirs, own, membership, entered, _, members = found
    return RelationView(
        number=number,
        endpoint=endpoint,
        application=application,
        is_peer=is_peer,
        life=Life(life),
        application_life=Life(application_life),
        application_version=theirs,
        own_version=own,
        membership=Membership(membership) if membership is not None else None,
        entered=entered,
        members={each[0]: _member_view(names.application_of(each[0]), *each[1:]) for each in members},
    )


@functools.lru_cache(maxsize=_KEPT)
def _member_view(
    application: str,
    version: int,
    entered: int,
    membership: str = Membership.IN,
    is_leaving: bool = False,
    owes: bool = False,
    is_forced: bool = False,
) -> MemberView:
    return MemberView(
        application=application,
        version=version,
        entered=entered,
        membership=Membership(membership),
        is_leaving=is_leaving,
        owes=owes,
        is_forced=is_forced,
    )


def _event(found: Mapping[str, Any]) -> EventRow:
    event = UnitEvent(
        kind=EventKind(found["kind"]),
        relation=found["relation"],
        endpoint=found["endpoint"],
        application=found["remote_application"],
        unit=found["remote_unit"],
        departing_unit=found["departing_unit"],
        storage=found["storage"],
        secret=found["secret"],
        revision=found["secret_revision"],
        is_mirrored=found["is_mirrored"],
        is_echo=found["is_echo"],
        seen=Seen(
            config=found["seen_config"], charm=found["seen_charm"], term=found["seen_term"], bag=found["seen_bag"]
        ),
    )
    return EventRow(
        id=found["event_id"],
        ordinal=found["ordinal"],
        attempt=found["attempt"],
        state=EventState(found["state"]),
        event=event,
        lease_token=found["lease_token"],
        is_lost=found["is_lost"],
        remaining_seconds=found["remaining_seconds"] or 0.0,
        retry_in_seconds=found["retry_in_seconds"],
        message=found["message"],
        reason=found["reason"],
        leaving=found["leaving"],
        actor=found["actor"],
    )
