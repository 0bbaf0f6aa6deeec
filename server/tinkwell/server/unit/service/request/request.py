"""The requests of operators, and the checks of their fields."""

import dataclasses
from collections.abc import Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.charm.reader import MAX_INSTANCES
from tinkwell.core.charm.record import Manifest
from tinkwell.core.release import name as namespaces
from tinkwell.core.unit import limit
from tinkwell.core.unit import name as names
from tinkwell.core.unit.kinds import Profile
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.closed_object import nearest
from tinkwell.core.value.document import JsonObject

MAX_GRACE_SECONDS = 86_400
MAX_LINES = 100_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """The number of new units, their machines, and the number of instances of each storage.

    Unit N gets the Nth machine.
    """

    count: int
    machines: Sequence[str] = ()
    is_anywhere: bool = False
    storages: Sequence[tuple[str, int]] = ()
    ids: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Deploy:
    """An application to create. `profile` is None for the one that the charm asks for."""

    id: str = ""
    namespace: str = ""
    name: str
    charm: str
    config: str = ""
    profile: Profile | None = None
    units: Units


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """Another charm for an application, and a change of its configuration."""

    namespace: str = ""
    application: str
    charm: str
    config: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """How units are removed: with `force` they end without teardown, after a grace in which the teardown may finish."""

    force: bool = False
    grace_seconds: int = 0
    keep_storage: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Named:
    """An application, a unit or a storage by its namespace and its name, both checked."""

    namespace: str
    name: str


def parse_application(namespace: str, name: str, *, field: str = "application") -> Named:
    """Check the name of an application. Raises `errors.InvalidField` for all that is wrong."""
    checks = check.Checks()
    found = Named(
        checks.take(namespaces.parse_namespace, "namespace", namespace),
        checks.take(names.parse_application, field, name),
    )
    checks.finish()
    return found


def parse_unit(namespace: str, name: str, *, field: str = "unit") -> Named:
    """Check the name of a unit. Raises `errors.InvalidField` for all that is wrong."""
    checks = check.Checks()
    found = Named(
        checks.take(namespaces.parse_namespace, "namespace", namespace), checks.take(names.parse_unit, field, name)
    )
    checks.finish()
    return found


def parse_config(text: str) -> JsonObject:
    """Read the JSON object that changes a configuration. An empty text changes nothing."""
    return document.parse_json_object("config", text, max_bytes=limit.CONFIG_BYTES) if text else {}


def check_units(checks: check.Checks, units: Units) -> Units:
    """Check the number of new units and their machines, and return them in a normal form.

    Errors are noted in the checks.
    """
    most = limit.UNITS_PER_APPLICATION
    checks.take(parse.parse_int_range, "units", units.count, low=0, high=most)
    if units.machines and units.is_anywhere:
        checks.refuse("machines", "are given, and is_anywhere, too; give one of both")
    for field, given in (("machines", units.machines), ("ids", units.ids)):
        if len(given) > max(units.count, 0):
            checks.refuse(field, f"has {len(given):,} entries for {units.count:,} units; leave some out")
    if units.ids and len(units.ids) < units.count:
        checks.refuse("ids", f"has {len(units.ids):,} entries for {units.count:,} units; give one for each, or none")
    ids = _parse_uuids(checks, "ids", units.ids[:most])
    if len(set(ids)) < len(ids):
        checks.refuse("ids", "has one of them twice; give each unit one of its own")
    return dataclasses.replace(units, machines=_parse_uuids(checks, "machines", units.machines[:most]), ids=ids)


def count_storages(units: Units, manifest: Manifest) -> Mapping[str, int]:
    """Return the number of instances of each storage of a new unit. Raises `errors.InvalidField`."""
    counts = {name: storage.minimum for name, storage in manifest.storages.items()}
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    for index, (name, count) in enumerate(units.storages):
        path = parse.child("storages", index)
        storage = manifest.storages.get(name)
        if storage is None:
            advice = nearest(name, [*manifest.storages])
            checks.refuse(parse.child(path, "name"), f"the charm has no storage {parse.show(name)}; {advice}")
            continue
        most = MAX_INSTANCES if storage.maximum is None else min(storage.maximum, MAX_INSTANCES)
        if not storage.minimum <= count <= most:
            checks.refuse(parse.child(path, "count"), f"is {count}; it must be from {storage.minimum} to {most}")
        counts[name] = count
    checks.finish()
    return counts


def check_removal(removal: Removal) -> None:
    """Check how units are to be removed. Raises `errors.InvalidField`."""
    parse.parse_int_range("grace_seconds", removal.grace_seconds, low=0, high=MAX_GRACE_SECONDS)
    if removal.grace_seconds and not removal.force:
        raise errors.InvalidField.of("grace_seconds", "goes with force, which it puts off; set force, or leave it out")


def _parse_uuids(checks: check.Checks, field: str, given: Sequence[str]) -> tuple[str, ...]:
    return tuple(checks.take(parse.parse_uuid, parse.child(field, index), text) for index, text in enumerate(given))
