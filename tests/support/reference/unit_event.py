"""The tables of docs/reference/unit-events.md, made of the rules themselves."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from tinkwell.core.unit.effect import BagEdit, Effects
from tinkwell.core.unit.invariant import CHECKS
from tinkwell.core.unit.kinds import EventKind, Owner, Phase, Profile
from tinkwell.core.unit.world import Charm, Endpoint, Role, World

# What each kind tells a unit. Which parts it has follows from the rules.
_TELLS: Mapping[EventKind, str] = {
    EventKind.STORAGE_ATTACHED: "a storage instance is there",
    EventKind.INSTALL: "the unit begins; its commit freezes what is left of the setup",
    EventKind.RELATION_CREATED: "the application has become related",
    EventKind.LEADER_ELECTED: "the unit leads its application, in a new term",
    EventKind.LEADER_SETTINGS_CHANGED: "another unit leads, in a term that it has announced",
    EventKind.CONFIG_CHANGED: "the configuration is another one than the unit saw last, or the code is",
    EventKind.START: "the setup, or an upgrade, is complete",
    EventKind.RELATION_JOINED: "a unit is in the relation; its `relation-changed` follows at once",
    EventKind.RELATION_CHANGED: "a bag has another version than the unit saw last",
    EventKind.RELATION_DEPARTED: "a unit has left the relation, or the unit itself leaves it",
    EventKind.RELATION_BROKEN: "the relation is over for the unit",
    EventKind.SECRET_CHANGED: "a secret that the unit has read, and may read, has a newer revision",
    EventKind.SECRET_ROTATE: "the interval is over after which the unit is to give its secret another revision",
    EventKind.SECRET_EXPIRED: "a revision of the unit's secret has reached its end; it stays until it is removed",
    EventKind.SECRET_REMOVE: "a revision of the unit's secret is not the newest one, and nobody reads it",
    EventKind.UPGRADE_CHARM: "the unit runs other code from now on; `config-changed` and `start` follow at once",
    EventKind.PRE_SERIES_UPGRADE: "somebody asks to prepare for an upgrade of the machine",
    EventKind.POST_SERIES_UPGRADE: "somebody says that this upgrade is over",
    EventKind.COLLECT_METRICS: "somebody asks for metrics",
    EventKind.UPDATE_STATUS: "some time has passed, and nothing else is due",
    EventKind.STORAGE_DETACHING: "a storage instance is taken away after this",
    EventKind.STOP: "the unit is to end what it runs",
    EventKind.REMOVE: "the unit is to clear up; nothing comes after it",
}
_SETUP = {
    EventKind.STORAGE_ATTACHED,
    EventKind.INSTALL,
    EventKind.RELATION_CREATED,
    EventKind.LEADER_ELECTED,
    EventKind.LEADER_SETTINGS_CHANGED,
    EventKind.CONFIG_CHANGED,
    EventKind.START,
}
_ENDS = {EventKind.STOP, EventKind.REMOVE}
_SIDE = {"alpha": Role.REQUIRES, "beta": Role.PROVIDES}


def _relate(world: World) -> None:
    world.relate("alpha:R", "beta:R")


def _add(world: World) -> None:
    world.add_units("alpha")


def _remove(world: World) -> None:
    world.remove_unit("alpha/1")


def _write(world: World) -> None:
    world.tick("alpha/0")


def _unrelate(world: World) -> None:
    world.unrelate(1)


_STORY: Sequence[tuple[str, Callable[[World], None]]] = (
    ("`alpha` and `beta` are related", _relate),
    ("`alpha` gets a second unit", _add),
    ("that unit is removed", _remove),
    ("`alpha/0` writes into its bag, in `update-status`", _write),
    ("the relation is removed", _unrelate),
)


def blocks() -> dict[str, str]:
    """Return the generated parts of the page by their names."""
    return {
        "kinds": "\n".join(_kinds()),
        "order": "\n".join(_order()),
        "literal": "\n".join(_story(Profile.LITERAL)),
        "juju": "\n".join(_story(Profile.JUJU)),
    }


def _kinds() -> Iterator[str]:
    yield "| event | phases | about | tells |"
    yield "|---|---|---|---|"
    for kind in EventKind:
        found = ", ".join(phase.lower() for phase in phases(kind))
        yield f"| `{_name(kind)}` | {found} | {_about(kind)} | {_TELLS[kind]} |"


def _name(kind: EventKind) -> str:
    return f"ENDPOINT-{kind}" if kind.is_relation else f"STORAGE-{kind}" if kind.is_storage else kind.value


def phases(kind: EventKind) -> Iterator[Phase]:
    """Yield the phases of a unit's life in which an event may come; `test_progress` holds the resolver to them."""
    if kind in _SETUP:
        yield Phase.SETUP
    if kind is not EventKind.INSTALL and kind not in _ENDS:
        yield Phase.OPERATION
    if kind.is_teardown:
        yield Phase.TEARDOWN


def _about(kind: EventKind) -> str:
    match kind:
        case EventKind.RELATION_JOINED | EventKind.RELATION_DEPARTED:
            return "a unit of a relation"
        case EventKind.RELATION_CHANGED:
            return "a unit, or the application, of a relation"
        case _ if kind.is_relation:
            return "a relation"
        case _ if kind.is_storage:
            return "a storage instance"
        case _ if kind.is_of_revision:
            return "a revision of a secret"
        case _ if kind.is_secret:
            return "a secret"
        case _:
            return ""


def _order() -> Iterator[str]:
    yield "| | rule |"
    yield "|---|---|"
    for check in CHECKS:
        head, _, rule = (check.__doc__ or "").splitlines()[0].partition(": ")
        yield f"| {head.replace(' and ', ', ')} | {rule} |"


def _story(profile: Profile) -> Iterator[str]:
    """Play the example of the document, and tell which events each of its steps brings to whom."""
    world = World()
    for name in _SIDE:
        world.deploy(name, _charm(name), profile=profile)
    _run(world)
    yield "| what happens | unit | its events, in their order |"
    yield "|---|---|---|"
    for text, act in _STORY:
        before = {unit: len(world.stream(unit)) for unit in _units(world)}
        act(world)
        _run(world)
        for index, unit in enumerate(sorted({*before, *_units(world)})):
            told = [each.event.name for each in world.stream(unit)[before.get(unit, 0) :]]
            named = [each for each in told if each.startswith("R-")]
            yield f"| {text if not index else ''} | `{unit}` | {', '.join(f'`{each}`' for each in named) or '–'} |"


def _charm(name: str) -> Charm:
    return Charm(name, f"{name} 1", {"R": Endpoint(_SIDE[name], "example")})


def _units(world: World) -> list[str]:
    return [unit.name for unit in world.units.values()]


def _run(world: World) -> None:
    """Run everything that is due; update-status writes into the unit's bag."""
    is_busy = True
    while is_busy:
        is_busy = False
        for unit in _units(world):
            is_busy = _step(world, unit) or is_busy


def _step(world: World, unit: str) -> bool:
    if unit not in world.units or world.grant(unit) is None:
        return False
    running = world.running(unit)
    assert running is not None
    is_tick = running.event.kind is EventKind.UPDATE_STATUS
    edit = BagEdit(relation=1, owner=Owner.UNIT, edits={"touched": "yes"})
    world.commit(unit, Effects(bags=(edit,) if is_tick else ()))
    return True
