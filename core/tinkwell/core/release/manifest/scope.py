"""The meaning of a name in an expression that is evaluated late. The first of these counts:

1. a dependency, by its alias;
2. a variable, or a name that every expression may use (`vars`, `release`, `each`);
3. a dependency, by the name of its resource;
4. a dependency, by the `name` in its config if that is plain text. It works, and a warning names the alias.

In a chart every expression may also use `inputs` and `subcharts`. The subchart in `subcharts.X` is known before the
evaluation, so the chart can be required to wait for it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.late import Late, Target
from tinkwell.core.value import check, closed_object
from tinkwell.core.value.document import JsonValue


class Unknown(Exception):
    """A name has no meaning here, or more than one; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a name: resources, or None if it needs no resource.

    `alias` is a better name for the same resources.
    """

    target: Target | None = None
    alias: str = ""


@dataclass(frozen=True, slots=True)
class Roots:
    """The names that a late text uses; those in `optional` may be missing (`is defined`, `default`).

    `subcharts` are the subcharts that it names.
    """

    names: Collection[str]
    optional: Collection[str] = ()
    subcharts: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcharts:
    """The subcharts that texts may name: those in `awaited` are settled by then; those in `others` must not be named.

    `explain` returns why one of `others` must not be named, and what to do.
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
    """The names of one document.

    `aliases` has the dependencies, and `config_names` the aliases by the config's name. `by_resource` has the meaning
    of each dependency's resource name, and `others` all other names of resources and hooks; `others_hint` says why
    these have no meaning. `subcharts` are those that `subcharts.X` may mean.
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
        """Return the meaning of a name; raises `Unknown`."""
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
    """Finds the meanings of names in late texts. Faults are noted in the checks, and discouraged uses in `warnings`."""

    def __init__(self, checks: check.Checks) -> None:
        self.warnings: list[str] = []
        self._checks = checks

    def find(self, field: str, within: JsonValue, late: Mapping[str, Roots], scope: Scope) -> Late:
        """Find the meanings of the names in a document; `late` has its late texts by their JSON pointers."""
        names: dict[str, Target] = {}
        for pointer, roots in late.items():
            path, text = name.locate(field, within, pointer)
            assert isinstance(text, str)  # a late pointer leads to a text
            for root in sorted(roots.names):
                if not self._checks.is_full:
                    self._note_meaning(path, root, scope, names, is_optional=root in roots.optional)
            for subchart in sorted(roots.subcharts):
                try:
                    scope.subcharts.check(subchart)
                except Unknown as unknown:
                    self._checks.refuse(path, str(unknown))
        return Late(pointers=tuple(late), names=names)

    def _note_meaning(self, path: str, root: str, scope: Scope, names: dict[str, Target], *, is_optional: bool) -> None:
        """Note the meaning of a name in a late text."""
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
