"""What a name in an expression means that is evaluated late. Whichever comes first:

1. a dependency, by its alias;
2. a variable, or what every expression may name (`vars`, `release`, `each`);
3. a dependency, by the name of its resource;
4. a dependency, by the `name` that its config has as a plain text. It works, and a warning names the alias.

In a chart, `inputs` and `subcharts` are among what every expression may name. Which subchart is meant by `subcharts.X`
is known before it is evaluated, so that whoever names one can be held to wait for it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.late import Late, Target
from tinkwell.core.value import check, closed_object
from tinkwell.core.value.document import JsonValue


class Unknown(Exception):
    """A name means nothing here, or more than one thing; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name stands for: resources, or None for what needs no resource. `alias` is a better name for the same."""

    target: Target | None = None
    alias: str = ""


@dataclass(frozen=True, slots=True)
class Roots:
    """The names that a late text looks up; those in `optional` it can do without (`is defined`, `default`).

    `subcharts` are those that it names.
    """

    names: Collection[str]
    optional: Collection[str] = ()
    subcharts: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcharts:
    """The subcharts that texts may name: `awaited` have settled by then; `others` are there, and must not be named.

    `explain` says of one of these why, and what is to be done.
    """

    awaited: Collection[str] = ()
    others: Collection[str] = ()
    explain: Callable[[str], str] = str

    def check(self, subchart: str) -> None:
        """Check that a subchart may be named; raises `Unknown`."""
        if subchart in self.awaited:
            return
        if subchart in self.others:
            raise Unknown(self.explain(subchart))
        nearest = closed_object.nearest(subchart, [*self.awaited, *self.others])
        raise Unknown(f"there is no subchart {subchart}; {nearest}")


NO_SUBCHARTS = Subcharts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The names of one document. `aliases` has the dependencies, and `config_names` the aliases by a config's name.

    `by_resource` has what the name of a resource may mean here, and `others` all names of resources, of which
    `others_hint` says why they mean nothing; `hooks` are among them. `subcharts` are those that `subcharts.X` may mean.
    """

    aliases: Mapping[str, Target] = field(default_factory=dict)
    known: Collection[str] = ()
    by_resource: Mapping[str, Sequence[Target]] = field(default_factory=dict)
    config_names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    others: Collection[str] = ()
    others_hint: str = ""
    hooks: Collection[str] = ()
    subcharts: Subcharts = NO_SUBCHARTS

    def find(self, root: str) -> Meaning:
        """Say what a name means; raises `Unknown`."""
        if root in self.aliases:
            return Meaning(self.aliases[root])
        if root in self.known:
            return Meaning()
        if root in self.by_resource:
            targets = self.by_resource[root]
            if len(targets) > 1:
                raise Unknown(f"{root} is the resource of several dependencies; write the alias of one of them")
            return Meaning(targets[0])
        if root in self.config_names:
            aliases = self.config_names[root]
            if len(aliases) > 1:
                raise Unknown(f"{root} is the name in the configs of {' and '.join(aliases)}; write one of these")
            return Meaning(self.aliases[aliases[0]], alias=aliases[0])
        raise Unknown(self._explain(root))

    def _explain(self, root: str) -> str:
        if root in self.hooks:
            return f"{root} is a hook, and no part of the release"
        if root in self.others:
            return f"{root} {self.others_hint}"
        names = [*self.aliases, *self.known, *self.by_resource, *self.others]
        return f"there is no {root} here; {closed_object.nearest(root, names)}"


class Meanings:
    """Finds what the names in late texts mean. What is wrong is noted in the checks, what is unwise in `warnings`."""

    def __init__(self, checks: check.Checks) -> None:
        self.warnings: list[str] = []
        self._checks = checks

    def find(self, field: str, within: JsonValue, late: Mapping[str, Roots], scope: Scope) -> Late:
        """Find what is meant in a document, of which `late` has the texts that are late by their JSON pointers."""
        names: dict[str, Target] = {}
        for pointer, roots in late.items():
            path, text = name.locate(field, within, pointer)
            assert isinstance(text, str)  # as whoever has evaluated the others says
            for root in sorted(roots.names):
                if not self._checks.is_full:
                    self._mean(path, root, scope, names, is_optional=root in roots.optional)
            for subchart in sorted(roots.subcharts):
                try:
                    scope.subcharts.check(subchart)
                except Unknown as unknown:
                    self._checks.refuse(path, str(unknown))
        return Late(pointers=tuple(late), names=names)

    def _mean(self, path: str, root: str, scope: Scope, names: dict[str, Target], *, is_optional: bool) -> None:
        """Note what a name in a late text means."""
        try:
            meaning = scope.find(root)
        except Unknown as unknown:
            if not is_optional:
                self._checks.refuse(path, str(unknown))
            return
        if meaning.target is not None:
            names[root] = meaning.target
        if meaning.alias:
            self.warnings.append(f"{path}: {root} is only the name in a config; write its alias, {meaning.alias}")
