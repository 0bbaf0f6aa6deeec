"""The tools for relations: which there are, who is in them, and what their bags hold."""

from collections.abc import Mapping

from tinkwell.provisioner.unit.attempt import Attempt, Relation
from tinkwell.provisioner.unit.tool import usage
from tinkwell.provisioner.unit.tool.usage import Arguments, Misused, Usage

_FORMAT = {"--format": "format"}
_RELATION = {"-r": "relation", "--relation": "relation"}
_APP = {"--app": "app"}

IDS = Usage(_FORMAT, {}, most=1)
LIST = Usage(_FORMAT | _RELATION, _APP, most=0)
GET = Usage(_FORMAT | _RELATION, _APP, most=2)
SET = Usage(_FORMAT | _RELATION | {"--file": "file"}, _APP)


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
    return relation.application if "app" in arguments.switches else list(relation.members)


async def get(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Read a bag, or one key of it; by default that of whom the event is about."""
    relation = _relation(attempt, arguments)
    key = arguments.rest[0] if arguments.rest else "-"
    name = arguments.rest[1] if len(arguments.rest) > 1 else ""
    bag = await attempt.bag(relation, _owner(attempt, relation, name, is_app="app" in arguments.switches))
    return dict(bag) if key == "-" else bag.get(key)


async def change(attempt: Attempt, arguments: Arguments, content: bytes) -> None:
    """Change the unit's bag, or its application's; an empty string takes a key away."""
    relation = _relation(attempt, arguments)
    wanted = await usage.given_pairs(arguments, content)
    owner = attempt.given.application if "app" in arguments.switches else attempt.given.unit
    edits: Mapping[str, str | None] = {key: value or None for key, value in wanted.items()}
    await attempt.edit_bag(relation, owner, edits)


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
