"""The manifest of a charm as typed records, and a charm as it is stored. A charm is identified by its digest."""

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tinkwell.core.unit.kinds import CharmKind, Profile
from tinkwell.core.value.document import JsonObject, JsonValue


class Role(StrEnum):
    """The side of a relation that an endpoint takes, in the manifest's words."""

    PROVIDES = "provides"
    REQUIRES = "requires"
    PEER = "peers"


class OptionType(StrEnum):
    """The type of an option's value, in the manifest's words."""

    STRING = "string"
    INT = "int"
    FLOAT = "float"
    BOOLEAN = "boolean"
    # A text such as secret:9m4e2mr0ui3e8a215n4g, which names a secret that may be granted to the charm.
    SECRET = "secret"  # noqa: S105


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A named end at which relations begin. `limit` is the most relations it may have at a time, 0 for any number."""

    name: str
    role: Role
    interface: str
    limit: int = 0
    is_optional: bool = False

    def as_json(self) -> JsonObject:
        """Return the members of the manifest, without empty ones."""
        return _without_empty({"interface": self.interface, "limit": self.limit, "optional": self.is_optional})


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """A storage of which each new unit has `minimum`, and may have at most `maximum`; None means any number."""

    name: str
    description: str = ""
    minimum: int = 1
    maximum: int | None = 1

    def as_json(self) -> JsonObject:
        """Return the members of the manifest."""
        most = "" if self.maximum is None else str(self.maximum)
        members: JsonObject = {"type": "filesystem", "description": self.description}
        if (self.minimum, self.maximum) != (1, 1):
            members["multiple"] = {"range": f"{self.minimum}-{most}"}
        return _without_empty(members)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of the configuration. `default` is None if there is none; `minimum` and `maximum` are for numbers."""

    name: str
    type: OptionType
    default: JsonValue = None
    description: str = ""
    minimum: JsonValue = None
    maximum: JsonValue = None

    def as_json(self) -> JsonObject:
        """Return the members of the manifest, without those that are not set."""
        members: JsonObject = {"type": str(self.type)}
        if self.description:
            members["description"] = self.description
        given = {"default": self.default, "minimum": self.minimum, "maximum": self.maximum}
        return {**members, **{key: value for key, value in given.items() if value is not None}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action that a unit can run. `parameters` are JSON schemas by name; `is_open`: other parameters are allowed."""

    name: str
    description: str = ""
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    is_open: bool = True

    def as_json(self) -> JsonObject:
        """Return the members of the manifest, without empty ones."""
        members: JsonObject = {"description": self.description, "params": dict(self.parameters)}
        if self.required:
            members["required"] = [*self.required]
        return {**_without_empty(members), **({} if self.is_open else {"additionalProperties": False})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A file that is delivered with a charm: its package has it as `resources/NAME/FILENAME`."""

    name: str
    filename: str
    description: str = ""

    @property
    def path(self) -> str:
        """The path of the file in the package."""
        return f"resources/{self.name}/{self.filename}"

    def as_json(self) -> JsonObject:
        """Return the members of the manifest, without empty ones."""
        return _without_empty({"type": "file", "filename": self.filename, "description": self.description})


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The declarations of a charm. `profile` is None if the charm does not ask for one.

    `bindings` are names, beside those of its endpoints, by which a charm of Juju asks for addresses.
    """

    name: str
    kind: CharmKind = CharmKind.SCRIPTS
    profile: Profile | None = None
    summary: str = ""
    description: str = ""
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    storages: Mapping[str, Storage] = field(default_factory=dict)
    options: Mapping[str, Option] = field(default_factory=dict)
    actions: Mapping[str, Action] = field(default_factory=dict)
    resources: Mapping[str, Resource] = field(default_factory=dict)
    bindings: tuple[str, ...] = ()

    def of_role(self, role: Role) -> Iterator[Endpoint]:
        """Yield the endpoints of a role, by name."""
        return (self.endpoints[name] for name in sorted(self.endpoints) if self.endpoints[name].role is role)

    def as_json(self) -> JsonObject:
        """Return the members of charm.yaml, without empty ones, such that reading them gives an equal manifest."""
        options: JsonObject = {name: self.options[name].as_json() for name in sorted(self.options)}
        return _without_empty(
            {
                "name": self.name,
                "kind": self.kind.value.lower(),
                "profile": self.profile.value.lower() if self.profile else "",
                "summary": self.summary,
                "description": self.description,
                **{str(role): {each.name: each.as_json() for each in self.of_role(role)} for role in Role},
                "storage": {name: self.storages[name].as_json() for name in sorted(self.storages)},
                "config": {"options": options} if options else {},
                "actions": {name: self.actions[name].as_json() for name in sorted(self.actions)},
                "resources": {name: self.resources[name].as_json() for name in sorted(self.resources)},
                "extra-bindings": {name: {} for name in self.bindings},
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Charm:
    """A charm with its package's digest (`sha256:` and the hash of the package) and size in bytes."""

    digest: str
    manifest: Manifest
    size: int
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name in the charm's manifest."""
        return self.manifest.name


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCharm:
    """A stored charm; `size` is the package's size in bytes."""

    id: str
    version: int
    digest: str
    size: int
    manifest: Manifest
    warnings: tuple[str, ...]
    created_at: datetime.datetime
    updated_at: datetime.datetime


def _without_empty(members: JsonObject) -> JsonObject:
    return {key: value for key, value in members.items() if value not in (False, "", {})}
