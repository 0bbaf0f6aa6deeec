"""Carries out the requests of operators about applications, by the core's rules."""

import dataclasses
import importlib
import io
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.client.hardware.model import Hardware
from tinkwell.client.testing.unit.book import DEFAULT_NAMESPACE, Room, StoredCharm, UnitBook
from tinkwell.client.testing.world import World
from tinkwell.client.unit import message
from tinkwell.client.unit.model import Charm, CharmAction, CharmEndpoint, CharmOption, CharmStorage, Namespace
from tinkwell.core import errors
from tinkwell.core.charm import action, config, match
from tinkwell.core.charm.record import Manifest, Role
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import EventKind, Life, Profile
from tinkwell.core.unit.world import Charm as WorldCharm
from tinkwell.core.unit.world import Endpoint, Relation
from tinkwell.core.unit.world import Role as WorldRole
from tinkwell.core.unit.world import Unit as WorldUnit
from tinkwell.core.value import document, parse
from tinkwell.core.value.document import JsonObject

_REQUESTS = {
    pb.UNIT_REQUEST_PREPARE_UPGRADE: EventKind.PRE_SERIES_UPGRADE,
    pb.UNIT_REQUEST_FINISH_UPGRADE: EventKind.POST_SERIES_UPGRADE,
    pb.UNIT_REQUEST_COLLECT_METRICS: EventKind.COLLECT_METRICS,
}


class Requests:
    """Changes applications."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._book: UnitBook = world.units

    def upload(self, data: bytes) -> Charm:
        """Store a charm. Raises `errors.CharmRefused`."""
        # This module needs ruamel.yaml, which the bare install does not have.
        checked: Any = importlib.import_module("tinkwell.core.charm.package").check(io.BytesIO(data))
        if checked.digest not in self._book.charms:
            charm = self._world.put(_charm(checked.digest, checked.manifest, len(data), checked.warnings))
            self._book.charms[checked.digest] = StoredCharm(charm, checked.manifest, data)
        return self._book.charms[checked.digest].charm

    def ensure(self, namespace: str) -> Room:
        """Return a namespace, which is created if it does not exist."""
        wanted = namespace or DEFAULT_NAMESPACE
        if wanted not in self._book.rooms:
            made = Namespace(str(uuid.uuid4()), wanted, update_status_seconds=300, event_timeout_seconds=3600)
            self._book.namespaces[wanted] = self._world.put(made)
            self._book.rooms[wanted] = Room(wanted, self._world, self._book.stamps)
        return self._book.rooms[wanted]

    def deploy(self, request: pb.DeployRequest) -> tuple[Room, str]:
        """Create an application, and return its name."""
        former = self._made(request.id)
        if former is not None:
            if (former[0].namespace, former[1]) != (request.namespace or DEFAULT_NAMESPACE, request.name):
                raise errors.AlreadyExists("id", request.id, taken_by=f"application {former[1]}")
            return former
        name.parse_application("name", request.name)
        stored = self._book.charm(request.charm)
        given = config.edit(stored.manifest.options, {}, _object(request.config), field="config")
        self._check_machines(request.machines)
        room = self.ensure(request.namespace)
        if request.name in room.world.applications:
            raise errors.AlreadyExists("name", request.name, advice="give another name, or upgrade the application")
        if request.id:
            room.chosen[f"application {request.name}"] = request.id
        profile = message.PROFILES.member(request.profile) if request.profile else None
        room.world.deploy(
            request.name,
            _world_charm(stored, _counts(request.storages, stored.manifest)),
            0,
            profile=profile or stored.manifest.profile or Profile.LITERAL,
            config=given,
        )
        self._add(room, request.name, request.units, request.machines, request.is_anywhere, ())
        room.tell()
        return room, request.name

    def add_units(self, request: pb.AddUnitsRequest) -> tuple[Room, list[str]]:
        """Add units, and return their names."""
        room = self._book.room(request.namespace)
        known = {unit.id: unit.name for unit in room.world.units.values()}
        if request.ids and all(each in known for each in request.ids):
            return room, [known[each] for each in request.ids]
        if request.units < 1:
            raise errors.InvalidField.of("units", "must be at least 1")
        if request.ids and len(request.ids) != request.units:
            raise errors.InvalidField.of("ids", "must be as many as units, or none")
        self._check_machines(request.machines)
        self._application(room, request.application)
        ids = list(request.ids)
        added = self._add(room, request.application, request.units, request.machines, request.is_anywhere, ids)
        room.tell()
        return room, added

    def set_config(self, request: pb.SetConfigRequest) -> tuple[Room, str]:
        """Change options, and return the application's name."""
        room = self._book.room(request.namespace)
        found = self._application(room, request.application)
        stored = self._book.charm(found.charm.digest)
        given = _object(request.config)
        edited = config.edit(stored.manifest.options, found.config, given, field="config")
        room.world.set_config(found.name, {key: edited.get(key) for key in given})
        room.tell()
        return room, found.name

    def refresh(self, request: pb.RefreshRequest) -> tuple[Room, str]:
        """Give an application another charm."""
        room = self._book.room(request.namespace)
        found = self._application(room, request.application)
        old, new = self._book.charm(found.charm.digest).manifest, self._book.charm(request.charm)
        kept = config.kept(new.manifest.options, found.config)
        edited = config.edit(new.manifest.options, kept, _object(request.config), field="config")
        related = [each.ends[found.name] for each in room.world.relations.values() if found.name in each.ends]
        stored = [each.kind for each in room.world.storages.values() if each.application == found.name]
        match.check_refresh(old, new.manifest, related=related, stored=stored, profile=found.profile)
        room.world.refresh(found.name, _world_charm(new, {}))
        room.world.set_config(found.name, {key: edited.get(key) for key in {*found.config, *edited}})
        room.tell()
        return room, found.name

    def remove_unit(self, request: pb.RemoveUnitRequest) -> tuple[Room, WorldUnit]:
        """Begin to remove a unit, and return it; the world may not have it any more."""
        room = self._book.room(request.namespace)
        found = room.unit(request.unit)
        is_forced = request.force and not request.grace_seconds
        room.world.remove_unit(found.name, is_forced=is_forced, keep_storage=request.keep_storage, actor="test")
        _force_later(room, found.name, request.force, request.grace_seconds)
        return room, found

    def remove(self, request: pb.RemoveRequest) -> tuple[Room, str]:
        """Begin to remove an application."""
        room = self._book.room(request.namespace)
        if request.application not in room.world.applications:
            raise errors.NotFound(ResourceType.APPLICATION, request.application)
        is_forced = request.force and not request.grace_seconds
        for storage in room.world.storages.values() if request.keep_storage else ():
            storage.is_kept = storage.is_kept or name.application_of(storage.unit) == request.application
        room.world.remove_application(request.application, is_forced=is_forced, actor="test")
        _force_later(room, request.application, request.force, request.grace_seconds)
        return room, request.application

    def relate(self, request: pb.RelateRequest) -> tuple[Room, Relation]:
        """Create a relation, or return the existing one."""
        room = self._book.room(request.namespace)
        pair = self._pair(room, request.first, request.second, is_new=True)
        found = self._between(room, pair)
        if found is not None and found.life is Life.ALIVE:
            return room, found
        ends = (f"{end.application}:{end.endpoint}" for end in (pair.provider, pair.requirer))
        number = room.world.relate(*ends)
        room.tell()
        return room, room.world.relations[number]

    def unrelate(self, request: pb.UnrelateRequest) -> tuple[Room, Relation]:
        """Begin to end a relation, and return it; the world may not have it any more."""
        room = self._book.room(request.namespace)
        if request.number:
            found = room.world.relations.get(request.number)
        else:
            found = self._between(room, self._pair(room, request.first, request.second, is_new=False))
        if found is None:
            raise errors.NotFound(ResourceType.RELATION, str(request.number or f"{request.first} {request.second}"))
        room.world.unrelate(found.number, actor="test")
        room.tell()
        return room, found

    def resolve(self, request: pb.ResolveRequest) -> tuple[Room, str]:
        """Let a failed event be retried at once, or skip it."""
        room = self._book.room(request.namespace)
        found = room.unit(request.unit)
        if found.name not in room.world.failed():
            raise errors.IllegalTransition(f"unit {found.name}", "no event of it has failed")
        if request.skip:
            room.world.skip(found.name, actor="test")
        else:
            room.retry_now(found.name)
        room.tell()
        return room, found.name

    def request(self, request: pb.RequestRequest) -> tuple[Room, str]:
        """Request an event of a unit."""
        room = self._book.room(request.namespace)
        found = room.unit(request.unit)
        if request.request not in _REQUESTS:
            raise errors.InvalidField.of("request", "is needed")
        if found.running is not None and found.name in room.world.failed():
            raise errors.UnitInError(f"{found.name}", event=found.running.event.name)
        if _is_new(found, _REQUESTS[request.request]):
            room.world.request(found.name, _REQUESTS[request.request])
        room.tell()
        return room, found.name

    def attach(self, request: pb.AttachRequest) -> tuple[Room, str]:
        """Give a unit a storage, and return its name."""
        room = self._book.room(request.namespace)
        found = room.unit(request.unit)
        if "/" in request.storage:
            room.world.attach(found.name, request.storage)
            added = request.storage
        else:
            added = room.world.add_storage(found.name, request.storage)
        room.tell()
        return room, added

    def detach(self, request: pb.DetachRequest) -> tuple[Room, str]:
        """Take a storage from its unit."""
        room = self._book.room(request.namespace)
        room.world.detach(request.storage, actor="test")
        if (found := room.world.storages.get(request.storage)) is not None:
            found.is_kept = bool(found.machine)  # a storage that is on no machine is not kept
        room.tell()
        return room, request.storage

    def remove_storage(self, request: pb.RemoveStorageRequest) -> None:
        """Delete a storage that no unit has."""
        room = self._book.room(request.namespace)
        room.world.remove_storage(request.storage)
        room.tell()

    def _made(self, id_: str) -> tuple[Room, str] | None:
        for room in self._book.rooms.values() if id_ else ():
            for application in room.world.applications.values():
                if application.id == id_:
                    return room, application.name
        return None

    def _application(self, room: Room, wanted: str) -> Any:
        found = room.world.applications.get(wanted)
        if found is None:
            raise errors.NotFound(ResourceType.APPLICATION, wanted)
        if found.life is not Life.ALIVE:
            raise errors.IllegalTransition(f"application {wanted}", "it is being removed")
        return found

    def _check_machines(self, machines: Iterable[str]) -> None:
        for machine in machines:
            self._world.find(Hardware, machine)

    def _add(
        self,
        room: Room,
        application: str,
        count: int,
        machines: Sequence[str],
        is_anywhere: bool,
        ids: Sequence[str],
    ) -> list[str]:
        added: list[str] = []
        for index in range(count):
            number = room.world.applications[application].next_number
            if ids:
                room.chosen[f"unit {name.unit_name(application, number)}"] = ids[index]
            machine = machines[index] if index < len(machines) else ""
            added += room.world.add_units(application, 1, machine=machine)
            if is_anywhere and not machine:
                room.anywhere.add(room.world.units[added[-1]].id)
        return added

    def _pair(self, room: Room, first: str, second: str, *, is_new: bool) -> match.Pair:
        one, other = match.parse_reference("first", first), match.parse_reference("second", second)
        manifests: dict[str, Manifest] = {}
        for each in (one, other):
            if each.application not in room.world.applications:
                raise errors.NotFound(ResourceType.APPLICATION, each.application)
            if is_new:
                self._application(room, each.application)
            manifests[each.application] = self._book.charm(
                room.world.applications[each.application].charm.digest
            ).manifest
        return match.match(one, other, manifests)

    def _between(self, room: Room, pair: match.Pair) -> Relation | None:
        ends = {end.application: end.endpoint for end in (pair.provider, pair.requirer)}
        return next((each for each in room.world.relations.values() if each.ends == ends), None)


def _is_new(unit: WorldUnit, kind: EventKind) -> bool:
    """Whether the unit has no open request for an event of this kind."""
    asked, seen = unit.asked, unit.ledger.requests
    match kind:
        case EventKind.PRE_SERIES_UPGRADE:
            return asked.prepared == asked.finished
        case EventKind.POST_SERIES_UPGRADE:
            return not asked.prepared or asked.prepared > asked.finished
        case _:
            return asked.metrics == seen.metrics


def _object(text: str) -> JsonObject:
    return document.parse_json_object("config", text) if text else {}


def _counts(storages: Iterable[pb.StorageCount], manifest: Manifest) -> dict[str, int]:
    found = {}
    for each in storages:
        if each.name not in manifest.storages:
            raise errors.InvalidField.of("storages", f"the charm has no storage {parse.show(each.name)}")
        found[each.name] = each.count
    return found


def _world_charm(stored: StoredCharm, counts: Mapping[str, int]) -> WorldCharm:
    manifest = stored.manifest
    roles = {Role.PROVIDES: WorldRole.PROVIDES, Role.REQUIRES: WorldRole.REQUIRES, Role.PEER: WorldRole.PEERS}
    return WorldCharm(
        manifest.name,
        stored.charm.digest,
        {each.name: Endpoint(roles[each.role], each.interface) for each in manifest.endpoints.values()},
        tuple(each.name for each in manifest.storages.values() for _ in range(counts.get(each.name, each.minimum))),
        manifest.kind,
        tuple(manifest.storages),
    )


def _charm(digest: str, manifest: Manifest, size: int, warnings: tuple[str, ...]) -> Charm:
    return Charm(
        id=str(uuid.uuid4()),
        digest=digest,
        name=manifest.name,
        summary=manifest.summary,
        kind=manifest.kind,
        profile=manifest.profile,
        endpoints=tuple(
            CharmEndpoint(
                each.name, "PEER" if each.role is Role.PEER else each.role.upper(), each.interface, each.limit
            )
            for each in manifest.endpoints.values()
        ),
        storages=tuple(
            CharmStorage(each.name, each.description, each.minimum, each.maximum or 0)
            for each in manifest.storages.values()
        ),
        options=tuple(
            CharmOption(each.name, each.type, each.description, each.default, each.minimum, each.maximum)
            for each in manifest.options.values()
        ),
        size=size,
        warnings=warnings,
        actions=tuple(
            CharmAction(each.name, each.description, json.loads(document.dump_json(action.schema(each))))
            for each in manifest.actions.values()
        ),
    )


def set_namespace(requests: Requests, world: World, wanted: str, changes: Mapping[str, Any]) -> Namespace:
    """Change the settings of a namespace, which is created if it does not exist."""
    room = requests.ensure(wanted)
    book: UnitBook = world.units
    former = book.namespaces[room.namespace]
    changed = dataclasses.replace(former, **changes)
    if changed != former:
        book.namespaces[room.namespace] = world.put(changed)
    return book.namespaces[room.namespace]


def _force_later(room: Room, name: str, is_forced: bool, grace_seconds: int) -> None:
    if is_forced and grace_seconds:
        room.force_at[name] = room.now() + timedelta(seconds=grace_seconds)
