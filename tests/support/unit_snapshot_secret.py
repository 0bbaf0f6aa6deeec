"""The rows of secrets and tasks as parts of the state of a world; see `unit_snapshot`."""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping

import asyncpg

from tinkwell.core.unit.kinds import Rotation, TaskKind, TaskState
from tinkwell.core.unit.ledger import SecretLedger
from tinkwell.core.unit.view import SecretView
from tinkwell.core.unit.world.state import Granted, Revision, Secret, Task

Tables = Mapping[str, list[asyncpg.Record]]


def secrets(rows: Tables) -> dict[str, Secret]:
    """Return the secrets by their names; what they hold stands elsewhere."""
    applications = {row["id"]: row["name"] for row in rows["application"]}
    units = {row["id"]: row["name"] for row in rows["unit"]}
    relations = {row["id"]: row["number"] for row in rows["relation"]}
    found = {row["id"]: _secret(row) for row in rows["secret"]}
    for row in rows["secret_revision"]:
        found[row["secret_id"]].revisions[row["revision"]] = Revision({}, row["expires_at"])
    for row in rows["secret_grant"]:
        number = relations[row["relation_id"]] if row["relation_id"] else 0
        unit = units[row["unit_id"]] if row["unit_id"] else ""
        found[row["secret_id"]].grants.add(Granted(number, applications[row["application_id"]], unit))
    return {each.name: each for each in found.values()}


def ledgers(rows: Tables) -> dict[str, dict[str, SecretLedger]]:
    """Return what units were told of secrets, by their ids and the names of the secrets."""
    names = {row["id"]: row["name"] for row in rows["secret"]}
    found: dict[str, dict[str, SecretLedger]] = defaultdict(dict)
    for row in rows["secret_reader"]:
        found[str(row["unit_id"])][names[row["secret_id"]]] = SecretLedger(
            tracked=row["tracked"],
            told=row["told"],
            expired=frozenset(row["expired"]),
            removed=frozenset(row["removed"]),
        )
    return found


def tasks(rows: Tables) -> dict[str, Task]:
    """Return the tasks by their ids, in their order."""
    return {
        str(row["id"]): Task(
            id=str(row["id"]),
            number=row["number"],
            unit=row["unit"],
            kind=TaskKind(row["kind"]),
            state=TaskState(row["state"]),
        )
        for row in rows["task"]
    }


def plain(view: SecretView) -> SecretView:
    """Leave out the revisions of what a unit does not own, which the statement does not look for."""
    return view if view.is_owner else dataclasses.replace(view, revisions={})


def _secret(row: asyncpg.Record) -> Secret:
    return Secret(
        id=str(row["id"]),
        name=row["name"],
        owner=row["owner"],
        rotation=Rotation(row["rotation"]),
        rotates_at=row["rotates_at"],
        latest=row["latest"],
    )
