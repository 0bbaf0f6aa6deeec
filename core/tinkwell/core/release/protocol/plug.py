"""Which plugs a resource gets: those that its image asks for and the manifest allows."""

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.release import report
from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.model import Plug
from tinkwell.core.release.protocol.answer import PlugRequest
from tinkwell.core.release.protocol.schema import Pattern
from tinkwell.core.value import check, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A plug that a resource gets, and its path; it is writable only if both manifest and image say so."""

    name: str
    container_path: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class Granted:
    """The plugs that a resource gets, and sentences about the optional plugs that it does not get."""

    grants: tuple[Grant, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use a plug: resources whose name or type begins with a match of a pattern; all, without patterns."""

    names: tuple[Pattern, ...]
    types: tuple[Pattern, ...]

    @classmethod
    def compile(cls, checks: check.Checks, path: str, plug: Plug) -> "Access":
        """Compile the patterns of a plug; faults are noted."""
        return cls(
            _compile(checks, f"{path}.resource_names", plug.resource_names),
            _compile(checks, f"{path}.resource_types", plug.resource_types),
        )

    def allows(self, path: str, image_type: str) -> bool:
        """Return whether a resource may use the plug. One that `for_each` made matches by its path or its name."""
        if not self.names and not self.types:
            return True
        names = {path, name.split_path(path)[0]}
        return any(pattern.matches(each) for pattern in self.names for each in names) or any(
            pattern.matches(image_type) for pattern in self.types
        )


class Plugs:
    """The plugs of a manifest."""

    def __init__(self, plugs: Mapping[str, Plug]) -> None:
        """Compile all patterns; raises `errors.InvalidField` with the faulty ones."""
        checks = check.Checks()
        self._plugs = plugs
        self._access = {plug: Access.compile(checks, parse.child("plugs", plug), plugs[plug]) for plug in plugs}
        checks.finish()

    def grant(self, path: str, image_type: str, requests: Iterable[PlugRequest]) -> Granted:
        """Return what a resource gets; raises `errors.InvalidField` for each required plug that it cannot have."""
        checks = check.Checks()
        grants: list[Grant] = []
        warnings: list[str] = []
        for request in requests:
            problem = self._find_problem(path, image_type, request)
            if not problem:
                read_only = self._plugs[request.name].read_only or not request.writable
                grants.append(Grant(name=request.name, container_path=request.container_path, read_only=read_only))
            elif request.optional:
                warnings.append(f"{path}: the plug {request.name} {problem}; {path} goes without it")
            else:
                problem = f"{problem}{self._remedy(request.name)}"
                checks.refuse(parse.child("plugs", request.name), report.wrong_plug(path, image_type, problem))
        checks.finish()
        return Granted(tuple(grants), tuple(warnings))

    def _find_problem(self, path: str, image_type: str, request: PlugRequest) -> str:
        plug = self._plugs.get(request.name)
        if plug is None:
            return "does not exist"
        if not self._access[request.name].allows(path, image_type):
            return "is not allowed for this resource"
        if request.writable and plug.read_only:
            return "is read-only, and write access was asked for"
        return ""

    def _remedy(self, plug: str) -> str:
        """Return how to write a plug that the manifest does not have."""
        if plug in self._plugs:
            return ""
        near = difflib.get_close_matches(plug, self._plugs, n=1)
        begin = f", and there is {near[0]}; did you mean {plug}? Write" if near else "; write"
        return f"{begin} plugs: {{{plug}: {{path: …}}}} in the manifest"


def grants_for(image: str, image_type: str, grants: Collection[Grant]) -> tuple[Grant, ...]:
    """Return the plugs that a container gets: all of the resource's for its own image, none for another image.

    A call cannot name plugs, so plugs that were granted to a type stay with its image. An `image` of "" is the
    resource's own.
    """
    return tuple(grants) if image in ("", image_type) else ()


def _compile(checks: check.Checks, path: str, patterns: Iterable[str]) -> tuple[Pattern, ...]:
    found: list[Pattern] = []
    for index, text in enumerate(patterns):
        try:
            found.append(Pattern.compile(parse.child(path, index), text))
        except errors.InvalidField as error:
            checks.note(error)
    return tuple(found)
