"""The tools for secrets. Values come in files, which the program has read, or as arguments."""

import datetime
from collections.abc import Mapping

from tinkwell.core import errors
from tinkwell.core.unit import secret as rules
from tinkwell.core.unit.kinds import Rotation
from tinkwell.provisioner.unit.attempt import given
from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.secret import Change
from tinkwell.provisioner.unit.attempt.world import Refused
from tinkwell.provisioner.unit.tool import usage
from tinkwell.provisioner.unit.tool.answer import NOTHING
from tinkwell.provisioner.unit.tool.usage import FORMAT, Arguments, Misused, Usage

OWNERS = ("application", "unit")
_LABEL = {"--label": "label"}
_CHANGE = _LABEL | {"--description": "description", "--expire": "expire", "--rotate": "rotate", "--owner": "owner"}
_TO = {"-r": "relation", "--relation": "relation", "--unit": "unit"}

ADD = Usage(_CHANGE | {"--file": "file"}, {}, least=0)
SET = Usage(_CHANGE | {"--file": "file"}, {}, least=1)
GET = Usage(FORMAT | _LABEL, {"--refresh": "refresh", "--peek": "peek"}, most=2, style="yaml")
INFO = Usage(FORMAT | _LABEL, {}, most=1, style="yaml")
IDS = Usage(FORMAT, {}, most=0, style="yaml")
GRANT = Usage(_TO, {}, least=1, most=1)
REVOKE = Usage(_TO | {"--app": "app", "--application": "app"}, {}, least=1, most=1)
REMOVE = Usage({"--revision": "revision"}, {}, least=1, most=1)


async def add(attempt: Attempt, arguments: Arguments, content: bytes) -> object:
    """Make a secret, and name it."""
    values = await usage.given_pairs(arguments, content)
    owner = arguments.flags.get("owner", "application")
    if owner not in OWNERS:
        raise Misused(f"secret owner {owner!r} not valid: use one of {', '.join(OWNERS)}")
    if not values:
        raise Misused("missing secret value")
    return rules.uri(await attempt.secrets.add(_change(arguments, values), is_application=owner == "application"))


async def change(attempt: Attempt, arguments: Arguments, content: bytes) -> object:
    """Change what is known of a secret, or with values give it a revision."""
    name, *rest = arguments.rest
    values = await usage.given_pairs(Arguments(arguments.flags, arguments.switches, rest), content)
    attempt.secrets.set(name, _change(arguments, values))
    return NOTHING


async def get(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Read a secret, or one value of it."""
    name, key = [*arguments.rest, "", ""][:2]
    label = arguments.flags.get("label", "")
    is_peek, is_refresh = ("peek" in arguments.switches), ("refresh" in arguments.switches)
    if is_peek and is_refresh:
        raise Misused("specify one of --peek or --refresh but not both")
    if not name and not label:
        raise Misused("require either a secret URI or label")
    values = await attempt.secrets.get(name, label=label, is_peek=is_peek, is_refresh=is_refresh)
    if not key:
        return dict(values)
    if key not in values:
        raise Refused(f'secret key value "{key}" not found')
    return values[key]


async def info(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Say what an owner knows of a secret beside its values."""
    name, label = (arguments.rest[0] if arguments.rest else ""), arguments.flags.get("label", "")
    if bool(name) == bool(label):
        raise Misused("require either a secret URI or label")
    secret = attempt.secrets.owned_by(name, label)
    said: dict[str, object] = {
        "revision": secret.latest,
        "label": secret.label,
        "owner": "unit" if "/" in secret.owner else "application",
        "description": secret.description,
        "rotation": secret.rotation.lower(),
        "expiry": _time(secret.expires_at),
        "rotates": _time(secret.rotates_at),
        "access": [_access(each) for each in secret.grants],
    }
    return {secret.id: {key: value for key, value in said.items() if value not in (None, "", []) or key == "label"}}


async def ids(attempt: Attempt, _arguments: Arguments, _content: bytes) -> object:
    """List the secrets that the unit may change."""
    return [secret.id for secret in attempt.secrets.owned]


async def grant(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Let the other side of a relation read a secret."""
    if "relation" not in arguments.flags:
        raise Misused("missing relation id: give it with --relation")
    attempt.secrets.grant(arguments.rest[0], _to(attempt, arguments))
    return NOTHING


async def revoke(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Take back what was granted."""
    if not {"relation", "app", "unit"} & arguments.flags.keys():
        raise Misused("missing relation or application or unit")
    attempt.secrets.revoke(arguments.rest[0], _to(attempt, arguments))
    return NOTHING


async def remove(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Remove a secret, or one revision of it."""
    text = arguments.flags.get("revision", "0")
    if not text.isdecimal() or ("revision" in arguments.flags and not int(text)):
        raise Misused(f"--revision: {text!r} is no revision; give a number from 1 on")
    attempt.secrets.remove(arguments.rest[0], int(text))
    return NOTHING


def _change(arguments: Arguments, values: Mapping[str, str]) -> Change:
    flags = arguments.flags
    rotation = flags.get("rotate")
    if rotation is not None and rotation.upper() not in [each.value for each in Rotation]:
        raise Misused(
            f"rotate policy {rotation!r} not valid: use one of {', '.join(each.lower() for each in Rotation)}"
        )
    return Change(
        content=values,
        label=flags.get("label"),
        description=flags.get("description"),
        rotation=None if rotation is None else Rotation(rotation.upper()),
        expires_at=_expiry(flags["expire"]) if flags.get("expire") else None,
    )


def _expiry(text: str) -> datetime.datetime:
    try:
        return rules.parse_expiry("--expire", text, datetime.datetime.now(datetime.UTC))
    except errors.InvalidField as error:
        raise Misused(str(error)) from error


def _to(attempt: Attempt, arguments: Arguments) -> given.Grant:
    """Say to whom a secret is granted: units of the other side, whose application a unit's name has in it."""
    flags = arguments.flags
    name, unit, application = flags.get("relation"), flags.get("unit", ""), flags.get("app", "")
    if name is None:
        return given.Grant(relation=0, application=application or unit.partition("/")[0], unit=unit)
    for number, relation in attempt.given.relations.items():
        if name in (relation.id, str(number)):
            return given.Grant(relation=number, application=application or relation.application, unit=unit)
    raise Misused(f'invalid value "{name}" for option --relation: relation not found')


def _access(grant: given.Grant) -> dict[str, object]:
    target = f"unit-{grant.unit.replace('/', '-')}" if grant.unit else f"application-{grant.application}"
    return {"target": target, "scope": f"relation-{grant.relation}", "role": "view"}


def _time(moment: datetime.datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
