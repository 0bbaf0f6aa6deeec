"""All rows of a namespace as the state of a world, read table by table, to hold the view's one statement against."""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import asyncpg

from support import unit_snapshot_secret
from tinkwell.core.unit.kinds import EventKind, EventState, Life, Membership, Phase, Profile
from tinkwell.core.unit.ledger import Ledger, MemberLedger, RelationLedger, Requests
from tinkwell.core.unit.unit_event import Seen, UnitEvent
from tinkwell.core.unit.view import MemberView, RelationView, View
from tinkwell.core.unit.world import sight
from tinkwell.core.unit.world.charm import Charm, Endpoint, Role
from tinkwell.core.unit.world.state import Application, Bag, Member, Relation, Running, State, Storage, Unit
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store import ledger as document

_OWN = "SELECT * FROM {} WHERE namespace = $1"
_OF_RELATION = "SELECT t.* FROM {} t JOIN relation r ON r.id = t.relation_id WHERE r.namespace = $1"
_OF_SECRET = "SELECT t.* FROM {} t JOIN secret s ON s.id = t.secret_id WHERE s.namespace = $1"
_IN_FLIGHT = "SELECT * FROM unit_event WHERE namespace = $1 AND state IN ('RUNNING', 'ERROR')"


@dataclasses.dataclass(slots=True)
class Snapshot:
    """The rows of each table, and the state that they make."""

    rows: Mapping[str, list[asyncpg.Record]]
    state: State

    def views(self) -> dict[str, View]:
        """Return the views of all units by their ids, as the pure rule has them."""
        units = self.state.units.values()
        return {unit.id: _plain(sight.view(self.state, unit)) for unit in units}

    def ledgers(self) -> dict[str, Ledger]:
        """Return the ledgers of all units by their ids."""
        return {unit.id: unit.ledger for unit in self.state.units.values()}


async def read(sql: asyncpg.Connection, namespace: str) -> Snapshot:
    """Read a namespace. The connection is in a transaction that has one snapshot."""
    rows = {
        name: await sql.fetch(_OWN.format(name), namespace) for name in ("application", "unit", "relation", "storage")
    }
    for name in ("relation_end", "relation_bag", "relation_member", "unit_relation", "unit_member"):
        rows[name] = await sql.fetch(_OF_RELATION.format(name), namespace)
    rows["unit_event"] = await sql.fetch(_IN_FLIGHT, namespace)
    rows["charm"] = await sql.fetch("SELECT * FROM charm")
    rows["secret"] = await sql.fetch(_OWN.format("secret"), namespace)
    for name in ("secret_revision", "secret_grant", "secret_reader"):
        rows[name] = await sql.fetch(_OF_SECRET.format(name), namespace)
    rows["task"] = await sql.fetch("SELECT * FROM task WHERE namespace = $1 ORDER BY number", namespace)
    rows["now"] = await sql.fetch("SELECT clock_timestamp() AS at")
    return Snapshot(rows, _state(namespace, rows))


def _state(namespace: str, rows: Mapping[str, list[asyncpg.Record]]) -> State:
    charms = {row["digest"]: _charm(row) for row in rows["charm"]}
    applications = {row["id"]: _application(row, charms) for row in rows["application"]}
    relations = {row["id"]: _relation(row) for row in rows["relation"]}
    names = {row["id"]: row["name"] for row in rows["unit"]}
    for row in rows["relation_end"]:
        relations[row["relation_id"]].ends[applications[row["application_id"]].name] = row["endpoint"]
    for row in rows["relation_bag"]:
        relations[row["relation_id"]].bags[row["owner"]] = Bag({}, row["version"])
    for row in rows["relation_member"]:
        member = Member(Membership(row["membership"]), row["entered"])
        relations[row["relation_id"]].members[names[row["unit_id"]]] = member
    told = _told(rows, relations, names)
    in_flight = {row["unit_id"]: _running(row) for row in rows["unit_event"]}
    attached: dict[Any, set[str]] = defaultdict(set)
    for row in rows["storage"]:
        if row["is_attached"]:
            attached[row["unit_id"]].add(row["name"])
    units = [_unit(row, told[row["id"]], attached[row["id"]], in_flight.get(row["id"])) for row in rows["unit"]]
    known = unit_snapshot_secret.ledgers(rows)
    for unit in units:
        unit.ledger = dataclasses.replace(unit.ledger, secrets=known.get(unit.id, {}))
    (now,) = rows["now"]
    return State(
        namespace=namespace,
        make_id=str,
        clock=lambda: now["at"],
        secrets=unit_snapshot_secret.secrets(rows),
        tasks=unit_snapshot_secret.tasks(rows),
        applications={each.name: each for each in applications.values()},
        units={each.name: each for each in units},
        relations={each.number: each for each in relations.values()},
        storages={row["name"]: _storage(row) for row in rows["storage"]},
    )


def _charm(row: asyncpg.Record) -> Charm:
    endpoints = {name: Endpoint(Role.PROVIDES, "any") for name in row["endpoints"]}
    return Charm(name=row["name"], digest=row["digest"], endpoints=endpoints, storage=tuple(row["storages"]))


def _application(row: asyncpg.Record, charms: dict[str, Charm]) -> Application:
    return Application(
        id=str(row["id"]),
        name=row["name"],
        charm=charms[row["charm"]],
        profile=Profile(row["profile"]),
        charms=charms,
        life=Life(row["life"]),
        config_version=row["config_version"],
        leader=f"{row['name']}/{row['leader']}" if row["leader"] is not None else "",
        term=row["term"],
        announced_term=row["announced_term"],
    )


def _relation(row: asyncpg.Record) -> Relation:
    return Relation(
        id=str(row["id"]),
        number=row["number"],
        interface=row["interface"],
        ends={},
        is_peer=row["is_peer"],
        life=Life(row["life"]),
    )


def _told(
    rows: Mapping[str, list[asyncpg.Record]], relations: Mapping[Any, Relation], names: Mapping[Any, str]
) -> Mapping[Any, dict[int, RelationLedger]]:
    members: dict[Any, dict[str, MemberLedger]] = defaultdict(dict)
    for row in rows["unit_member"]:
        if row["is_told"]:
            told = MemberLedger(seen_version=row["seen_version"], is_older=row["is_older"])
            members[row["unit_id"], row["relation_id"]][names[row["member_id"]]] = told
    found: dict[Any, dict[int, RelationLedger]] = defaultdict(dict)
    for row in rows["unit_relation"]:
        found[row["unit_id"]][relations[row["relation_id"]].number] = RelationLedger(
            created=row["is_created"],
            broken=row["is_broken"],
            application_version=row["application_version"],
            own_version=row["own_version"],
            members=members[row["unit_id"], row["relation_id"]],
        )
    return found


def _running(row: asyncpg.Record) -> Running:
    event = UnitEvent(
        kind=EventKind(row["kind"]),
        relation=row["relation"],
        unit=row["remote_unit"],
        seen=Seen(config=row["seen_config"], charm=row["seen_charm"], term=row["seen_term"], bag=row["seen_bag"]),
    )
    return Running(
        id=str(row["id"]),
        unit=row["unit"],
        event=event,
        ordinal=row["ordinal"],
        phase=Phase(row["phase"]),
        state=EventState(row["state"]),
    )


def _unit(
    row: asyncpg.Record, relations: dict[int, RelationLedger], attached: set[str], running: Running | None
) -> Unit:
    return Unit(
        id=str(row["id"]),
        name=row["name"],
        life=Life(row["life"]),
        phase=Phase(row["phase"]),
        code=row["charm"] or "",
        ledger=Ledger(
            installed=row["is_installed"],
            started=row["is_started"],
            stopped=row["is_stopped"],
            removed=row["is_removed"],
            config_seen=row["config_seen"],
            charm_seen=row["charm_seen"] or "",
            led_term=row["led_term"],
            settings_term=row["settings_term"],
            plan=document.load_plan(row["plan"]),
            queue=document.load_queue(row["queue"]),
            requests=Requests(prepared=row["prepare_seen"], finished=row["finish_seen"], metrics=row["metrics_seen"]),
            attached=frozenset(attached),
            relations=relations,
        ),
        asked=Requests(
            prepared=row["prepare_requested"], finished=row["finish_requested"], metrics=row["metrics_requested"]
        ),
        is_tick_due=row["next_tick_at"] is not None,
        is_forced=row["is_forced"],
        running=running,
    )


def _storage(row: asyncpg.Record) -> Storage:
    return Storage(id=str(row["id"]), name=row["name"], application="", unit=row["unit"], life=Life(row["life"]))


def _plain(view: View) -> View:
    """Leave out what nobody asks for, as the statement does: siblings in profile JUJU, and what those owe who stay."""
    relations = {number: _plain_relation(each, view) for number, each in view.relations.items()}
    secrets = {name: unit_snapshot_secret.plain(each) for name, each in view.secrets.items()}
    return dataclasses.replace(view, relations=relations, secrets=secrets)


def _plain_relation(relation: RelationView, view: View) -> RelationView:
    sees_all = relation.is_peer or view.profile is Profile.LITERAL
    members: dict[str, MemberView] = {
        unit: dataclasses.replace(member, owes=member.owes and member.is_leaving)
        for unit, member in relation.members.items()
        if sees_all or member.application != view.application
    }
    return dataclasses.replace(relation, members=members)


async def compare(sql: asyncpg.Connection, namespace: str) -> int:
    """Hold what is loaded against the pure rule in one snapshot, for all units; return how many they are."""
    async with sql.transaction(isolation="repeatable_read", readonly=True):
        snapshot = await read(sql, namespace)
        views, ledgers = snapshot.views(), snapshot.ledgers()
        for unit_id, view in views.items():
            loaded = await delivery.load(sql.fetch, unit_id)
            assert loaded is not None
            assert loaded.view == view, f"{loaded.view}\n\n{view}"
            assert loaded.ledger == ledgers[unit_id], f"{loaded.ledger}\n\n{ledgers[unit_id]}"
    return len(views)
