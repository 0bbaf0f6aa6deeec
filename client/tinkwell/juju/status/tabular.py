"""Writes the tables of `status`: the model, its applications, units, machines and relations."""

from collections.abc import Iterable, Mapping
from typing import Any

from tinkwell.juju.shell import output
from tinkwell.juju.status.snapshot import Snapshot

_APPLICATION = ("App", "Version", "Status", "Scale", "Charm", "Rev", "Message")
_UNIT = ("Unit", "Workload", "Agent", "Machine", "Public address", "Ports", "Message")
_MACHINE = ("Machine", "State", "Address", "Inst id")
_RELATION = ("Integration provider", "Requirer", "Interface", "Type", "Message")


def lines(found: Mapping[str, Any], snapshot: Snapshot, *, with_relations: bool) -> Iterable[str]:
    """Return the lines of a status, which `found` describes as JSON."""
    model = found["model"]
    yield from output.table(
        ("Model", "Controller", "Cloud/Region", "Version", "Timestamp"),
        [(model["name"], model["controller"], model["cloud"], model["version"], found["controller"]["timestamp"])],
    )
    tables: list[tuple[tuple[str, ...], list[tuple[str, ...]]]] = [
        (_APPLICATION, [_application(name, each) for name, each in found["applications"].items()]),
        (_UNIT, [_unit(*each) for each in _units(found)]),
        (_MACHINE, [_machine(name, each) for name, each in found["machines"].items()]),
    ]
    if with_relations:
        tables.append((_RELATION, list(_relations(snapshot))))
    for header, rows in tables:
        if rows:
            yield ""
            yield from output.table(header, rows)


def _units(found: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [item for each in found["applications"].values() for item in each["units"].items()]


def _application(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    status, alive = found["application-status"], len(found["units"])
    message = status.get("message", "")
    return (
        name,
        found.get("version", ""),
        status["current"],
        str(alive),
        found["charm-name"],
        str(found["charm-rev"]),
        message,
    )


def _unit(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    workload = found["workload-status"]
    return (
        f"{name}*" if found.get("leader") else name,
        workload["current"],
        found["juju-status"]["current"],
        found.get("machine", ""),
        found.get("public-address", ""),
        ",".join(found.get("open-ports", [])),
        workload.get("message", ""),
    )


def _machine(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    return name, found["juju-status"]["current"], found["dns-name"], found["instance-id"]


def _relations(snapshot: Snapshot) -> Iterable[tuple[str, ...]]:
    for each in snapshot.relations:
        provider, requirer = each.ends[0], each.ends[-1]
        message = "" if each.life == "ALIVE" else each.life.lower()
        yield str(provider), str(requirer), each.interface, "peer" if each.peer else "regular", message
