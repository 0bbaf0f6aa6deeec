"""The requests of operators to a world. Each request is checked completely before it changes anything.

They raise the server's errors: NotFound, AlreadyExists, InvalidField, EndpointMismatch, CharmRefused,
IllegalTransition.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tinkwell.core import errors
from tinkwell.core.unit import limit, name
from tinkwell.core.unit.kinds import EventKind, EventState, Life, Profile, Verdict
from tinkwell.core.unit.resolver import verdict
from tinkwell.core.unit.world import change, log, relating, sight
from tinkwell.core.unit.world.charm import Charm, Role
from tinkwell.core.unit.world.state import Application, State, Storage, Unit
from tinkwell.core.value.document import JsonValue


def deploy(
    state: State, wanted: str, charm: Charm, *, profile: Profile, config: Mapping[str, JsonValue] | None = None
) -> Application:
    """Create an application without units, with its peer relations."""
    name.parse_application("name", wanted)
    if wanted in state.applications:
        raise errors.AlreadyExists("application", wanted)
    application = Application(
        state.new_id(f"application {wanted}"), wanted, charm, profile, {charm.digest: charm}, config=dict(config or {})
    )
    state.applications[wanted] = application
    log.write_application(state, application, log.CREATED)
    for endpoint, declared in charm.of_role(Role.PEERS).items():
        relating.create(state, {wanted: endpoint}, declared.interface, is_peer=True)
    return application


def add_units(state: State, wanted: str, count: int, *, machine: str = "", attach: Iterable[str] = ()) -> list[str]:
    """Create units, with the storages that their charm declares; with `attach` a single unit gets free storages."""
    application = _living(state, wanted)
    given = [_free(state, each, application, machine) for each in attach]
    if given and count != 1:
        raise errors.InvalidField.of("attach", "may be given for one unit only; add units one by one")
    if len([*state.units_of(wanted)]) + count > limit.UNITS_PER_APPLICATION:
        text = f"an application may have {limit.UNITS_PER_APPLICATION} units; add fewer"
        raise errors.InvalidField.of("count", text)
    return [_add_unit(state, application, machine, given) for _ in range(count)]


def _add_unit(state: State, application: Application, machine: str, given: Iterable[Storage]) -> str:
    added = name.unit_name(application.name, application.next_number)
    application.next_number += 1
    state.units[added] = unit = Unit(state.new_id(f"unit {added}"), added, machine)
    state.streams[added] = []
    log.write_unit(state, unit, log.CREATED)
    kinds = {storage.kind for storage in given}
    for storage in given:
        _allot(state, storage, unit)
    for kind in application.charm.storage:
        if kind not in kinds:
            add_storage(state, unit, kind)
    return added


def remove_unit(state: State, unit: Unit, *, is_forced: bool = False, keep_storage: bool = False, actor: str) -> None:
    """Begin a unit's removal; with `is_forced` it is removed at once."""
    for storage in state.storages_of(unit.name) if keep_storage else ():
        storage.is_kept = True
    if is_forced:
        unit.actor = actor
        change.force(state, unit)
    elif unit.life is Life.ALIVE:
        unit.actor = actor
        change.let_die(state, unit)
    change.reap(state)


def remove_application(state: State, wanted: str, *, is_forced: bool = False, actor: str) -> None:
    """Begin the removal of an application and its units; both sides of its relations break at the same time."""
    application = state.application(wanted)
    if application.life is Life.ALIVE:
        application.life = Life.DYING
        log.write_application(state, application)
    for relation in state.relations_of(wanted):
        if not relation.is_peer:
            relating.let_die(state, relation, actor)
    for unit in [*state.units_of(wanted)]:
        if unit.life is not Life.DEAD:
            remove_unit(state, unit, is_forced=is_forced, actor=actor)
    change.reap(state)


def set_config(state: State, wanted: str, edits: Mapping[str, JsonValue]) -> None:
    """Set values of the configuration; None restores the default. Nothing happens if no value changes."""
    application = _living(state, wanted)
    edited = {**application.config, **edits}
    edited = {option: value for option, value in edited.items() if value is not None}
    if edited != application.config:
        application.config = edited
        application.config_version += 1
        log.write_application(state, application)


def refresh(state: State, wanted: str, charm: Charm) -> None:
    application = _living(state, wanted)
    before = application.charm
    for relation in state.relations_of(wanted):
        endpoint = relation.ends[wanted]
        if charm.endpoints.get(endpoint) != application.charms[before.digest].endpoints.get(endpoint):
            raise errors.CharmRefused.of(
                "charm", f"it changes endpoint {endpoint}, which has a relation; remove that first"
            )
    for storage in state.storages.values():
        if storage.application == wanted and not charm.has_storage(storage.kind):
            raise errors.CharmRefused.of("charm", f"it has no storage {storage.kind}, and {storage.name} is there")
    new_peers = {end: each for end, each in charm.of_role(Role.PEERS).items() if end not in before.endpoints}
    if new_peers and application.profile is Profile.LITERAL:
        text = f"it adds the peer endpoint {min(new_peers)}, which profile LITERAL creates in setup alone"
        raise errors.CharmRefused.of("charm", f"{text}; deploy it anew")
    if charm.digest == before.digest:
        return
    application.charm = application.charms[charm.digest] = charm
    log.write_application(state, application)
    for endpoint, declared in new_peers.items():
        relating.create(state, {wanted: endpoint}, declared.interface, is_peer=True)


def add_storage(state: State, unit: Unit, kind: str) -> str:
    """Create a storage for a unit, and return its name."""
    application = state.applications[unit.application]
    if unit.life is not Life.ALIVE:
        raise errors.IllegalTransition(f"unit {unit.name}", "it is being removed; take another one")
    if not application.charm.has_storage(kind):
        raise errors.InvalidField.of("storage", f"charm {application.charm.name} has no storage {kind}")
    added = f"{kind}/{state.next_storage}"
    state.next_storage += 1
    storage = Storage(state.new_id(f"storage {added}"), added, application.name, unit.name, unit.machine)
    state.storages[added] = storage
    log.write_storage(state, storage, log.CREATED)
    return added


def attach(state: State, unit: Unit, wanted: str) -> None:
    """Attach a free storage of a unit's machine to the unit."""
    if unit.life is not Life.ALIVE:
        raise errors.IllegalTransition(f"unit {unit.name}", "it is being removed; take another one")
    storage = _free(state, wanted, state.applications[unit.application], unit.machine)
    _allot(state, storage, unit)


def detach(state: State, wanted: str, *, actor: str) -> None:
    """Detach a storage from its unit; it stays on its machine."""
    storage = state.storage(wanted)
    if not storage.unit:
        raise errors.IllegalTransition(f"storage {wanted}", "it is not allotted to a unit")
    storage.is_kept = True
    if storage.life is Life.ALIVE:
        storage.life = Life.DYING
        log.write_storage(state, storage)
        if not _is_told(state.units[storage.unit], wanted):
            change.detach(state, storage)


def remove_storage(state: State, wanted: str) -> None:
    """Delete a storage that no unit has."""
    storage = state.storage(wanted)
    if storage.unit:
        raise errors.IllegalTransition(f"storage {wanted}", f"unit {storage.unit} has it; detach it first")
    del state.storages[wanted]
    log.write_storage(state, storage, log.DELETED)


def request(state: State, unit: Unit, kind: EventKind) -> None:
    """Request `pre-series-upgrade`, then `post-series-upgrade`, or `collect-metrics`."""
    if unit.life is not Life.ALIVE:
        raise errors.IllegalTransition(f"unit {unit.name}", "it is being removed")
    asked = unit.asked
    match kind:
        case EventKind.PRE_SERIES_UPGRADE if asked.prepared == asked.finished:
            unit.asked = replace(asked, prepared=asked.prepared + 1)
        case EventKind.POST_SERIES_UPGRADE if asked.finished < asked.prepared:
            unit.asked = replace(asked, finished=asked.finished + 1)
        case EventKind.COLLECT_METRICS:
            unit.asked = replace(asked, metrics=asked.metrics + 1)
        case EventKind.PRE_SERIES_UPGRADE:
            raise errors.IllegalTransition(f"unit {unit.name}", "its upgrade was begun; finish it first")
        case EventKind.POST_SERIES_UPGRADE:
            raise errors.IllegalTransition(f"unit {unit.name}", "no upgrade of it was begun; begin one first")
        case _:
            raise errors.InvalidField.of("kind", f"{kind} cannot be asked for")


def skip(state: State, unit: Unit, *, actor: str) -> None:
    """Skip the event that has failed. If its cause is gone, it is withdrawn instead."""
    running = unit.running
    if running is None or running.state is not EventState.ERROR:
        raise errors.IllegalTransition(f"unit {unit.name}", "no event of it has failed")
    match verdict.verdict(running.event, unit.ledger, sight.view(state, unit)):
        case Verdict.RETRY:
            change.skip(state, unit, actor=actor)
        case Verdict.SKIP:
            change.skip_queue(state, unit)
        case Verdict.WITHDRAW:
            change.withdraw(state, unit)
    change.reap(state)


def _living(state: State, wanted: str) -> Application:
    application = state.application(wanted)
    if application.life is not Life.ALIVE:
        raise errors.IllegalTransition(f"application {wanted}", "it is being removed")
    return application


def _free(state: State, wanted: str, application: Application, machine: str) -> Storage:
    storage = state.storage(wanted)
    if not application.charm.has_storage(storage.kind):
        raise errors.InvalidField.of("storage", f"charm {application.charm.name} has no storage {storage.kind}")
    if storage.unit:
        raise errors.IllegalTransition(f"storage {wanted}", f"it is allotted to {storage.unit}; detach it first")
    if storage.machine != machine:
        raise errors.IllegalTransition(f"storage {wanted}", "it is on another machine than the unit")
    return storage


def _is_told(unit: Unit, storage: str) -> bool:
    """Return whether a unit was told, or is being told, that it has a storage."""
    return storage in unit.ledger.attached or (unit.running is not None and unit.running.event.storage == storage)


def _allot(state: State, storage: Storage, unit: Unit) -> None:
    storage.unit, storage.application = unit.name, unit.application
    storage.is_kept = False
    log.write_storage(state, storage)
