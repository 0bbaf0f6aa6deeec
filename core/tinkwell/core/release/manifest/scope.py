"""What a name in an expression means that is evaluated late. Whichever comes first:

1. a dependency, by its alias;
2. a variable, or what every expression may name (`vars`, `release`, `each`);
3. a dependency, by the name of its resource;
4. a dependency, by the `name` that its config has as a plain text. It works, and a warning names the alias.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tinkwell.core.release.manifest.late import Target
from tinkwell.core.value import closed_object


class Unknown(Exception):
    """A name means nothing here, or more than one thing; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name stands for: resources, or None for what needs no resource. `alias` is a better name for the same."""

    target: Target | None = None
    alias: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The names of one document. `aliases` has the dependencies, and `config_names` the aliases by a config's name.

    `by_resource` has what the name of a resource may mean here, and `others` all names of resources, of which
    `others_hint` says why they mean nothing.
    """

    aliases: Mapping[str, Target] = field(default_factory=dict)
    known: Collection[str] = ()
    by_resource: Mapping[str, Sequence[Target]] = field(default_factory=dict)
    config_names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    others: Collection[str] = ()
    others_hint: str = ""

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
        if root in self.others:
            return f"{root} {self.others_hint}"
        names = [*self.aliases, *self.known, *self.by_resource, *self.others]
        return f"there is no {root} here; {closed_object.nearest(root, names)}"
