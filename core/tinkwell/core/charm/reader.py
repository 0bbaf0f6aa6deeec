"""Reads the values of a manifest's files; faults are noted in the checks, unused fields in the warnings."""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.charm import action, assumption, config
from tinkwell.core.charm.charmcraft import METADATA_YAML
from tinkwell.core.charm.record import Action, Endpoint, Manifest, Option, OptionType, Resource, Role, Storage
from tinkwell.core.unit.kinds import CharmKind, Profile
from tinkwell.core.value import check, parse
from tinkwell.core.value.closed_object import ClosedObject, nearest
from tinkwell.core.value.document import JsonObject, JsonValue

MAX_ENDPOINTS = 200
MAX_STORAGES = 100
MAX_OPTIONS = 1_000
MAX_ACTIONS = 200
MAX_RESOURCES = 100
MAX_BINDINGS = 100
MAX_NAME_CHARACTERS = 53
MAX_INSTANCES = 100
MAX_LIMIT = 10_000
MAX_TEXT_BYTES = 65_536

FIELDS = (
    *("name", "kind", "profile", "summary", "description", *Role, "storage", "config", "actions", "resources"),
    "extra-bindings",
)
# Fields for people, for charmcraft's build, and others without meaning in Tinkwell.
_IGNORED = (
    *("display-name", "title", "maintainer", "maintainers", "docs", "issues", "source", "website", "links", "tags"),
    *("categories", "terms", "min-juju-version", "charm-user", "base", "bases", "build-base"),
    *("platforms", "parts", "charm-libs", "analysis", "charmhub", "prime", "format"),
)
_JUDGED = ("type", "series", "assumes", "subordinate")
_KUBERNETES = "is for workloads on Kubernetes, which Tinkwell does not run; take the charm for machines"
REFUSED = {
    "containers": _KUBERNETES,
    "devices": _KUBERNETES,
    "deployment": _KUBERNETES,
    "constraints": "is not followed, since machines are not chosen by constraints; leave it out, and name a machine",
    "spaces": "is not followed, since there are no network spaces; leave it out",
}
_UNUSED = ("payloads",)
# Fields that a packed charm of Juju has in another file.
_OTHER_FILES = {"config": "config.yaml", "actions": "actions.yaml"}
ENDPOINT = ("interface", "limit", "optional", "scope")
STORAGE = ("type", "description", "multiple", "shared")
_UNUSED_OF_STORAGE = ("read-only", "minimum-size", "location", "properties")
OPTION = ("type", "default", "description", "minimum", "maximum")
RESOURCE = ("type", "filename", "description")
_UNUSED_OF_RESOURCE = ("upstream-source",)

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_ENDPOINT_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_WORD = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_FILENAME = re.compile(r"[^/\\\x00-\x1f]{1,255}")
_RANGE = re.compile(r"([0-9]{1,6})(?:\+|(-)([0-9]{1,6})?)?")

_text = functools.partial(parse.parse_text, max_bytes=MAX_TEXT_BYTES, allow_empty=True, multiline=True)


def parse_name(field: str, text: str) -> str:
    """Parse the name of a charm; raises `errors.InvalidField`."""
    return _parse(_NAME, "a-z, 0-9 and single - between them", field, text)


def parse_endpoint_name(field: str, text: str) -> str:
    """Parse the name of an endpoint or a storage, which is the first part of event names."""
    return _parse(_ENDPOINT_NAME, "a-z, 0-9 and single - or _ between them", field, text)


class Reader:
    """Reads the values of a charm's files; `file` is the name of the file, `kind` the kind of charm it is for."""

    def __init__(
        self, checks: check.Checks, warnings: list[str], file: str, *, kind: CharmKind = CharmKind.SCRIPTS
    ) -> None:
        self._checks = checks
        self._warnings = warnings
        self._file = file
        self._default_kind = kind

    def manifest(self, value: JsonValue) -> Manifest:
        """Read a charm.yaml, metadata.yaml or charmcraft.yaml."""
        self._judge(value)
        if self._file == METADATA_YAML and isinstance(value, dict):
            value = self._without_other_files(value)
        members = self._open("", value, FIELDS, (*_IGNORED, *_JUDGED, *REFUSED))
        settings = self._open("config", members.object("config"), ("options",))
        name, kind = members.text("name", parse_name, is_required=True), self._kind(members)
        return Manifest(
            name=name,
            kind=kind,
            profile=self._profile(members, kind),
            summary=members.text("summary", _text),
            description=members.text("description", _text),
            endpoints=self._endpoints(members),
            storages=self._storages(members),
            options=self._options(settings),
            actions=self._actions(members),
            resources=self._resources(members),
            bindings=self._bindings(members),
        )

    def actions(self, value: JsonValue) -> Mapping[str, Action]:
        """Read an actions.yaml."""
        return self._actions(ClosedObject(self._checks, "", {"actions": value}, ("actions",)), within=False)

    def config(self, value: JsonValue) -> Mapping[str, Option]:
        """Read a config.yaml."""
        return self._options(self._open("", value, ("options",)))

    def _open(self, path: str, value: JsonValue, known: Sequence[str], ignored: Sequence[str] = ()) -> ClosedObject:
        """Open an object; an unknown member is left out with a warning, or silently if it has no value."""
        if isinstance(value, dict):
            for key in value:
                if key not in known and key not in ignored:
                    advice = "it is not used" if key in (*_UNUSED, *_UNUSED_OF_STORAGE) else nearest(key, known)
                    self._warn(parse.child(path, key), f"is not a field that is known here; {advice}")
            value = {key: member for key, member in value.items() if key in known and member is not None}
        return ClosedObject(self._checks, path, value, known)

    def _without_other_files(self, value: JsonObject) -> JsonObject:
        for key in _OTHER_FILES.keys() & value.keys():
            self._warn(key, f"is not read there; write it into {_OTHER_FILES[key]}")
        return {key: member for key, member in value.items() if key not in _OTHER_FILES}

    def _warn(self, path: str, sentence: str) -> None:
        self._warnings.append(f"{self._file}: {path} {sentence}")

    def _judge(self, value: JsonValue) -> None:
        """Refuse fields that ask for a feature that Tinkwell does not have."""
        members = value if isinstance(value, dict) else {}
        for name, sentence in REFUSED.items():
            if members.get(name):
                self._checks.refuse(name, sentence)
        if members.get("type") not in (None, "charm"):
            self._checks.refuse("type", "must be charm; a bundle is deployed charm by charm")
        if members.get("subordinate"):
            self._checks.refuse("subordinate", "is true; there are no subordinates: relate two ordinary applications")
        if "kubernetes" in _texts_within(members.get("series")):
            self._checks.refuse("series", f"has kubernetes, and the charm {_KUBERNETES}")
        assumption.judge(self._checks, members.get("assumes"))

    def _kind(self, members: ClosedObject) -> CharmKind:
        given = members.text("kind", _text) or self._default_kind.lower()
        if given not in (known := {kind.lower(): kind for kind in CharmKind}):
            self._checks.refuse("kind", f"{parse.show(given)} is not known; write native or scripts")
        return known.get(given, self._default_kind)

    def _profile(self, members: ClosedObject, kind: CharmKind) -> Profile | None:
        given = members.text("profile", _text)
        if given and given not in (known := {profile.lower(): profile for profile in Profile}):
            self._checks.refuse("profile", f"{parse.show(given)} is not known; write literal or juju")
        if kind is not CharmKind.OPS:
            return known.get(given) if given else None
        if given == Profile.LITERAL.lower():
            self._checks.refuse("profile", "is literal, and charms of Juju need the events of Juju; leave it out")
        return Profile.JUJU

    def _actions(self, members: ClosedObject, *, within: bool = True) -> dict[str, Action]:
        found: dict[str, Action] = {}
        for path, name, value in members.members("actions", parse_endpoint_name):
            where = path if within else path.removeprefix("actions.")
            if name.startswith("juju-"):
                self._checks.refuse(where, "names that begin with juju- are reserved; give the action another one")
            found[name] = action.read(self._open(where, value or {}, action.FIELDS), name)
        if len(found) > MAX_ACTIONS:
            self._checks.refuse(
                "actions" if within else "", f"has {len(found):,} actions; at most {MAX_ACTIONS:,} are allowed"
            )
        return found

    def _bindings(self, members: ClosedObject) -> tuple[str, ...]:
        names = tuple(sorted(name for _, name, _ in members.members("extra-bindings", parse_endpoint_name)))
        if len(names) > MAX_BINDINGS:
            self._checks.refuse("extra-bindings", f"has {len(names):,} names; at most {MAX_BINDINGS:,} are allowed")
        return names

    def _resources(self, members: ClosedObject) -> dict[str, Resource]:
        found: dict[str, Resource] = {}
        for path, name, value in members.members("resources", parse_endpoint_name):
            resource = self._open(path, value, RESOURCE, _UNUSED_OF_RESOURCE)
            match resource.text("type", _text) or "file":
                case "file":
                    filename = resource.text("filename", _parse_filename) or name
                    found[name] = Resource(
                        name=name, filename=filename, description=resource.text("description", _text)
                    )
                case "oci-image":
                    self._checks.refuse(f"{path}.type", f"is oci-image, which {_KUBERNETES}")
                case other:
                    self._checks.refuse(f"{path}.type", f"{parse.show(other)} is not known; write file")
        if len(found) > MAX_RESOURCES:
            self._checks.refuse("resources", f"has {len(found):,} resources; at most {MAX_RESOURCES:,} are allowed")
        return found

    def _endpoints(self, members: ClosedObject) -> dict[str, Endpoint]:
        found: dict[str, Endpoint] = {}
        for role in Role:
            for path, name, value in members.members(role, parse_endpoint_name):
                endpoint = self._endpoint(path, name, role, value)
                if name in found:
                    also = found[name].role
                    self._checks.refuse(path, f"{name} is in {also}, too; give each endpoint a name of its own")
                found[name] = endpoint
        if len(found) > MAX_ENDPOINTS:
            self._checks.refuse("", f"has {len(found):,} endpoints; at most {MAX_ENDPOINTS:,} are allowed")
        return found

    def _endpoint(self, path: str, name: str, role: Role, value: JsonValue) -> Endpoint:
        if isinstance(value, str):
            if self._default_kind is CharmKind.OPS:
                # ops would fail at each event, before the charm's code runs.
                self._checks.refuse(path, f"is {parse.show(value)} alone; ops reads {{interface: NAME}}: write that")
            value = {"interface": value}
        members = self._open(path, value, ENDPOINT)
        if name.startswith("juju-"):
            self._checks.refuse(path, "names that begin with juju- are reserved; give the endpoint another one")
        scope = members.text("scope", _text)
        if scope == "container":
            self._checks.refuse(f"{path}.scope", "is container, and there are no subordinates; leave it out")
        elif scope not in ("", "global"):
            self._checks.refuse(f"{path}.scope", f"{parse.show(scope)} is not known; leave it out")
        return Endpoint(
            name=name,
            role=role,
            interface=members.text("interface", _parse_interface, is_required=True),
            limit=members.integer("limit", low=0, high=MAX_LIMIT) or 0,
            is_optional=members.boolean("optional"),
        )

    def _storages(self, members: ClosedObject) -> dict[str, Storage]:
        found = {
            name: self._storage(path, name, value)
            for path, name, value in members.members("storage", parse_endpoint_name)
        }
        if len(found) > MAX_STORAGES:
            self._checks.refuse("storage", f"has {len(found):,} storages; at most {MAX_STORAGES:,} are allowed")
        return found

    def _storage(self, path: str, name: str, value: JsonValue) -> Storage:
        members = self._open(path, value, STORAGE)
        kind = members.text("type", _text) or "filesystem"
        if kind == "block":
            self._checks.refuse(f"{path}.type", "is block; a storage is a folder of the machine: write filesystem")
        elif kind != "filesystem":
            self._checks.refuse(f"{path}.type", f"{parse.show(kind)} is not known; write filesystem")
        if members.boolean("shared"):
            self._checks.refuse(f"{path}.shared", "is true; a storage belongs to one unit: leave it out")
        minimum, maximum = self._range(members)
        return Storage(name=name, description=members.text("description", _text), minimum=minimum, maximum=maximum)

    def _range(self, members: ClosedObject) -> tuple[int, int | None]:
        """Read how many of a storage a unit has: one, or the range in `multiple.range`: 2, 0-3, 1- or 1+."""
        if "multiple" not in members:
            return 1, 1
        multiple = self._open(members.path("multiple"), members.value("multiple"), ("range",))
        multiple.demand("range")
        given, path = multiple.value("range", ""), multiple.path("range")
        text = str(given) if isinstance(given, int) and not isinstance(given, bool) else given
        if not isinstance(text, str) or not (found := _RANGE.fullmatch(text)):
            if "range" in multiple:
                multiple.refuse(path, "a range such as 2, 0-3 or 1-", given)
            return 1, 1
        minimum = int(found[1])
        maximum = None if text.endswith(("-", "+")) else int(found[3] or found[1])
        if minimum > MAX_INSTANCES:
            self._checks.refuse(path, f"begins with {minimum:,}; at most {MAX_INSTANCES} are made for each unit")
        elif maximum is not None and maximum < max(minimum, 1):
            self._checks.refuse(path, f"{parse.show(text)} allows none; end it with a number from {max(minimum, 1)} on")
        return minimum, maximum

    def _options(self, members: ClosedObject) -> dict[str, Option]:
        found = {
            name: self._option(path, name, value)
            for path, name, value in members.members("options", _parse_option_name)
        }
        if len(found) > MAX_OPTIONS:
            self._checks.refuse("options", f"has {len(found):,} options; at most {MAX_OPTIONS:,} are allowed")
        return found

    def _option(self, path: str, name: str, value: JsonValue) -> Option:
        members = self._open(path, value, OPTION)
        type_ = self._option_type(members)
        bounds = {bound: self._bound(members, bound, type_) for bound in ("minimum", "maximum")}
        low, high = bounds["minimum"], bounds["maximum"]
        if low is not None and high is not None and _exceeds(low, high):
            self._checks.refuse(members.path("minimum"), f"is {low}, and maximum {high}; no value lies between them")
            bounds = {}
        option = Option(name=name, type=type_, description=members.text("description", _text), **bounds)
        return Option(
            name=name,
            type=type_,
            description=option.description,
            default=self._given(members, "default", option),
            **bounds,
        )

    def _option_type(self, members: ClosedObject) -> OptionType:
        given = members.text("type", _text) or OptionType.STRING
        if given not in set(OptionType):
            listed = ", ".join(OptionType)
            self._checks.refuse(members.path("type"), f"{parse.show(given)} is not known; write one of {listed}")
        return OptionType(given) if given in set(OptionType) else OptionType.STRING

    def _bound(self, members: ClosedObject, name: str, type_: OptionType) -> JsonValue:
        if name in members and type_ not in (OptionType.INT, OptionType.FLOAT):
            self._checks.refuse(members.path(name), f"is for numbers, and the option is a {type_}; leave it out")
            return None
        return self._given(members, name, Option(name=name, type=type_))

    def _given(self, members: ClosedObject, name: str, option: Option) -> JsonValue:
        """Return a member's value of the option's type; None if there is none, or a wrong one."""
        given = members.value(name)
        if given is None:
            return None
        if option.type is OptionType.SECRET:
            self._checks.refuse(members.path(name), "is the name of a secret, which a charm cannot know; leave it out")
            return None
        if isinstance(given, str) and option.type is not OptionType.STRING:
            members.refuse(members.path(name), config.NEEDED[option.type], given, if_text="write it without quotes")
            return None
        try:
            return config.parse_value(members.path(name), given, option)
        except errors.InvalidField as error:
            self._checks.note(error)
            return None


def _parse(pattern: re.Pattern[str], allowed: str, field: str, text: str) -> str:
    if not pattern.fullmatch(text) or len(text) > MAX_NAME_CHARACTERS:
        sentence = f"use {allowed}, a letter at first, at most {MAX_NAME_CHARACTERS} characters"
        raise errors.InvalidField.of(field, f"{parse.show(text)} is not a name; {sentence}")
    return text


def _parse_filename(field: str, text: str) -> str:
    if not _FILENAME.fullmatch(text) or text in (".", ".."):
        sentence = "is not the name of a file; write it without folders"
        raise errors.InvalidField.of(field, f"{parse.show(text)} {sentence}")
    return text


def _parse_option_name(field: str, text: str) -> str:
    return _parse(_WORD, "letters, digits, _, . and -", field, text)


def _parse_interface(field: str, text: str) -> str:
    if text.startswith("juju-"):
        raise errors.InvalidField.of(field, "interfaces that begin with juju- are reserved; name another one")
    return _parse(_WORD, "letters, digits, _, . and -", field, text)


def _texts_within(value: JsonValue) -> Iterator[str]:
    """Yield all texts of a value, and the keys of its objects."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts_within(item)
        case dict():
            for key, item in value.items():
                yield key
                yield from _texts_within(item)
        case _:
            return


def _exceeds(low: JsonValue, high: JsonValue) -> bool:
    numbers = config.as_number(low), config.as_number(high)
    return numbers[0] > numbers[1]
