"""The tools for relations: which there are, who is in them, and what their bags hold."""

from collections.abc import Mapping

from tinkwell.core.unit.kinds import EventKind
from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.given import Relation
from tinkwell.provisioner.unit.attempt.world import Refused
from tinkwell.provisioner.unit.tool import usage
from tinkwell.provisioner.unit.tool.answer import NOTHING
from tinkwell.provisioner.unit.tool.usage import FORMAT, Arguments, Misused, Usage

_RELATION = {"-r": "relation", "--relation": "relation"}
_APP = {"--app": "app"}
# What a leader says to all units lies in the application's bag of a peer relation, under keys that nothing else shows.
_LEADERS = "tinkwell.leader."

IDS = Usage(FORMAT, {}, most=1)
LIST = Usage(FORMAT | _RELATION, _APP, most=0)
GET = Usage(FORMAT | _RELATION, _APP, most=2)
SET = Usage(FORMAT | _RELATION | {"--file": "file"}, _APP)
MODEL = Usage(FORMAT | _RELATION, {}, most=0)
LEADER_GET = Usage(FORMAT, {}, most=1)
LEADER_SET = Usage({"--file": "file"}, {})


async def ids(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """List the relations of an endpoint, by default of the event's."""
    given = attempt.given
    about = given.relations.get(given.occasion.relation)
    if not arguments.rest and about is None:
        raise Misused("no endpoint is given, and the event is about none: give its name")
    endpoint = arguments.rest[0] if arguments.rest else about.endpoint if about else ""
    return [each.id for _, each in sorted(given.relations.items()) if each.endpoint == endpoint]


async def members(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """List the units of a relation's other side, or name its application."""
    relation = _relation(attempt, arguments)
    return relation.application if "app" in arguments.switches else _members(attempt, relation)


async def get(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Read a bag, or one key of it; by default that of whom the event is about."""
    relation = _relation(attempt, arguments)
    key = arguments.rest[0] if arguments.rest else "-"
    name = arguments.rest[1] if len(arguments.rest) > 1 else ""
    bag = await attempt.bag(relation, _owner(attempt, relation, name, is_app="app" in arguments.switches))
    shown = {each: value for each, value in bag.items() if not each.startswith(_LEADERS)}
    return shown if key == "-" else shown.get(key)


async def change(attempt: Attempt, arguments: Arguments, content: bytes) -> object:
    """Change the unit's bag, or its application's; an empty string takes a key away."""
    relation = _relation(attempt, arguments)
    wanted = await usage.given_pairs(arguments, content)
    owner = attempt.given.application if "app" in arguments.switches else attempt.given.unit
    edits: Mapping[str, str | None] = {key: value or None for key, value in wanted.items()}
    await attempt.edit_bag(relation, owner, edits)
    return NOTHING


async def model(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Identify the namespace of a relation, which is the unit's own."""
    _relation(attempt, arguments)
    return {"uuid": attempt.given.model}


async def leader_get(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Read what the leader has said to all units, or what it has said by a key."""
    relation = _peers(attempt)
    if relation.application_bag is None and not await attempt.is_leader():
        # An application's bag is given to its units in peer relations; without it, nothing was said yet.
        return None if arguments.rest else {}
    bag = await attempt.bag(relation, attempt.given.application)
    said = {key.removeprefix(_LEADERS): value for key, value in bag.items() if key.startswith(_LEADERS)}
    return said.get(arguments.rest[0]) if arguments.rest and arguments.rest[0] != "-" else said


async def leader_set(attempt: Attempt, arguments: Arguments, content: bytes) -> object:
    """Say something to all units as their leader; an empty string takes a key away."""
    relation = _peers(attempt)
    if not await attempt.is_leader():
        raise Refused(f"cannot write leadership settings: {attempt.given.unit} is not the leader")
    wanted = await usage.given_pairs(arguments, content)
    edits: Mapping[str, str | None] = {f"{_LEADERS}{key}": value or None for key, value in wanted.items()}
    await attempt.edit_bag(relation, attempt.given.application, edits)
    return NOTHING


def _peers(attempt: Attempt) -> Relation:
    found = [each for _, each in sorted(attempt.given.relations.items()) if each.is_peer]
    if not found:
        raise Refused("leadership settings are kept in a peer relation: declare one under peers in metadata.yaml")
    return found[0]


def _members(attempt: Attempt, relation: Relation) -> list[str]:
    """List members as the event has them: who joins is one, who departs is none any more."""
    occasion = attempt.given.occasion
    if relation.number != occasion.relation:
        return list(relation.members)
    match occasion.kind:
        case EventKind.RELATION_CREATED | EventKind.RELATION_BROKEN:
            return []
        case EventKind.RELATION_DEPARTED:
            return [unit for unit in relation.members if unit != occasion.unit]
        case _:
            is_told = not occasion.unit or occasion.unit in relation.members
            return list(relation.members) if is_told else [*relation.members, occasion.unit]


def _relation(attempt: Attempt, arguments: Arguments) -> Relation:
    """Return the relation that is named as `db:7` or `7`; by default the event's."""
    given = attempt.given
    name = arguments.flags.get("relation")
    if name is None:
        if (about := given.relations.get(given.occasion.relation)) is not None:
            return about
        raise Misused("no relation is given, and the event is about none: give its id with -r")
    for number, relation in given.relations.items():
        if name in (relation.id, str(number)):
            return relation
    raise Misused(f'invalid value "{name}" for option -r: relation not found')


def _owner(attempt: Attempt, relation: Relation, name: str, *, is_app: bool) -> str:
    """Return whose bag is meant; a unit stands for its application where that one's is."""
    occasion = attempt.given.occasion
    if not name and relation.number == occasion.relation:
        name = occasion.application if is_app else occasion.unit
    if not name and is_app:
        name = relation.application
    if not name:
        raise Misused("no unit is given, and the event is about none: give its name")
    if is_app:
        return name.partition("/")[0]
    if "/" not in name:
        raise Misused(f"{name!r} is no unit; for an application's bag add --app")
    return name
