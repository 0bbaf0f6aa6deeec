"""Renders a manifest: evaluates what can be evaluated before anything runs. It runs in the child alone.

`for_each` makes a resource several, called NAME[KEY]; `when` drops it. Texts of `config` and `outputs` that name a
resource wait until that has settled: they stay as they are, and stand beside the manifest as JSON pointers, so that no
text of a value or of a state can ever pose as an expression.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from tinkwell.core.value import document
from tinkwell.provisioner.release.expression import language
from tinkwell.provisioner.release.expression.evaluator import Evaluator, JsonObject, Noted, Place, Scope
from tinkwell.provisioner.release.expression.fault import nearest
from tinkwell.provisioner.release.expression.plain import Json

# The path of a resource, or those of all that a `for_each` made.
Target: TypeAlias = str | list[str]

MAX_RESOURCES = 5000
RESERVED = ("release", "vars", "each")
_KEY = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,63}")
_SHOWN_CHARACTERS = 64


def names_of(variables: JsonObject, release: JsonObject) -> JsonObject:
    """Return what every expression of a manifest may name."""
    return {**variables, "vars": variables, "release": release}


def explain(unknown: str, known: list[str]) -> str:
    """Say why a name is unknown, given those that are known."""
    if unknown in language.REMOVED_GLOBALS:
        return f"{unknown} is not available in expressions"
    for name in known:
        if name.startswith(f"{unknown}-"):
            return f"{unknown} is not known here; the - of {name} reads as minus, so give it another name or alias"
    return f"{unknown} is not known here{nearest(unknown, known)}"


@dataclass(frozen=True, slots=True)
class _Instance:
    """A resource, or one of those that its `for_each` makes; `each` is empty, or what expressions know by that name."""

    name: str
    path: str
    given: JsonObject
    each: JsonObject


class Rendering:
    """Renders one manifest."""

    def __init__(self, manifest: JsonObject, names: JsonObject, evaluator: Evaluator) -> None:
        self._given = {name: cast(JsonObject, item) for name, item in _object(manifest, "resources").items()}
        self._plugs = _object(manifest, "plugs")
        self._outputs = _object(manifest, "outputs")
        self._names = names
        self._evaluator = evaluator
        self._wanted: dict[str, _Instance] = {}
        self._disabled: list[str] = []
        # Of each resource with `for_each` the paths that are wanted, and how many there were.
        self._expanded: dict[str, list[str]] = {}
        self._made: Counter[str] = Counter()
        self._late: JsonObject = {}
        self._warnings: list[str] = []

    def render(self) -> JsonObject:
        """Return the rendered manifest, and beside it what `Expressions.render` says."""
        for name in RESERVED:
            if name in _object(self._names, "vars"):
                self._warnings.append(f"variables.{name}: the name has a meaning of its own; write vars.{name}")
        plugs = self._evaluator.value(self._plugs, Place("plugs", 1), Scope(self._names, self._explain))
        for name, given in self._given.items():
            self._choose(name, given)
        resources = {path: self._resource(instance) for path, instance in self._wanted.items()}
        known = {name: name for name in self._wanted.keys() & self._given.keys()} | self._expanded
        # Here nothing has an alias, and a manifest must not change its meaning by a variable that somebody gives.
        scope = Scope(self._names, self._explain, known)
        outputs = self._evaluator.value(self._outputs, Place("outputs", 1), scope)
        return {
            "plugs": plugs,
            "resources": cast(JsonObject, resources),
            "outputs": outputs,
            "late": {"resources": self._late, "outputs": _late(scope.noted, known, {})},
            "disabled": [*self._disabled],
            "warnings": [*self._warnings],
        }

    def _choose(self, name: str, given: JsonObject) -> None:
        """Find the instances of a resource, and which of them are wanted."""
        if "for_each" not in given:
            instances = iter([_Instance(name, name, given, {})])
        else:
            self._expanded[name] = []
            instances = self._each(name, given)
        for instance in instances:
            if not self._is_wanted(instance):
                continue
            if len(self._wanted) >= MAX_RESOURCES:
                self._evaluator.refuse(f"resources.{name}", f"is one of more than {MAX_RESOURCES:,} resources")
                return
            self._wanted[instance.path] = instance
            if instance.each:
                self._expanded[name].append(instance.path)

    def _each(self, name: str, given: JsonObject) -> Iterator[_Instance]:
        field = f"resources.{name}.for_each"
        match self._checked(given["for_each"], Place(field, 3), Scope(self._names, self._explain_in(name))):
            case list() as found:
                items: dict[str, tuple[Json, Json]] = {str(index): (index, value) for index, value in enumerate(found)}
            case dict() as found:
                items = {key: (key, value) for key, value in found.items()}
            case None:
                return
            case found:
                needed = "a list or an object"
                self._evaluator.refuse(field, f"must be {needed}, and not {document.describe(found)}")
                return
        for text, (key, value) in items.items():
            if not _KEY.fullmatch(text):
                allowed = "letters, digits, _, . and -, the first none of the last two, at most 64 in all"
                self._evaluator.refuse(field, f'the key "{text[:_SHOWN_CHARACTERS]}" is not made of {allowed}')
            self._made[name] += 1
            yield _Instance(name, f"{name}[{text}]", given, {"each": {"key": key, "value": value}})

    def _is_wanted(self, instance: _Instance) -> bool:
        place = Place(f"resources.{instance.path}.when", 3)
        match self._checked(instance.given.get("when", True), place, self._scope(instance)):
            case True:
                return True
            case False:
                self._disabled.append(instance.path)
            case None:
                pass
            case found:
                self._evaluator.refuse(place.field, f"must be true or false, and not {document.describe(found)}")
        return False

    def _checked(self, value: Json, place: Place, scope: Scope) -> Json:
        """Evaluate; null means that something was wrong, and was told."""
        before = len(self._evaluator.problems)
        found = self._evaluator.value(value, place, scope)
        if len(self._evaluator.problems) > before:
            return None
        if found is None:
            self._evaluator.refuse(place.field, "must not be null")
        return found

    def _resource(self, instance: _Instance) -> JsonObject:
        place = Place(f"resources.{instance.path}", 2)
        scope = self._scope(instance)
        rendered: JsonObject = {
            key: self._evaluator.value(value, place.child(key), scope)
            for key, value in instance.given.items()
            if key not in ("when", "for_each", "config")
        }
        targets = self._targets(instance, _object(rendered, "dependencies"))
        if "dependencies" in rendered:
            rendered["dependencies"] = cast(JsonObject, targets)
        if "config" in instance.given:
            rendered["config"] = self._config(instance, targets)
        return rendered

    def _config(self, instance: _Instance, targets: Mapping[str, Target]) -> Json:
        names = {**self._names, **instance.each}
        aliases = {alias: alias for alias in targets}
        late = {name: alias for name, alias in self._other_names(targets) if name not in names} | aliases
        scope = Scope(names, self._explain_in(instance.name, list(late)), late)
        # Pointers begin at config.
        config = self._evaluator.value(instance.given["config"], Place(f"resources.{instance.path}.config", 3), scope)
        if scope.noted.pointers:
            known = {name: targets[alias] for name, alias in late.items()}
            self._late[instance.path] = _late(scope.noted, known, instance.each)
        for name in sorted(scope.noted.roots - aliases.keys() - self._given.keys()):
            self._warnings.append(
                f"resources.{instance.path}.config: {name} is the name in a config; write the alias, {late[name]}"
            )
        return config

    def _other_names(self, targets: Mapping[str, Target]) -> Iterator[tuple[str, str]]:
        """Iterate over names that mean a dependency besides its alias: the literal name in its config, and its own."""
        names = [
            (name, alias)
            for alias, target in targets.items()
            if isinstance(target, str)
            and isinstance(name := _object(self._given.get(target, {}), "config").get("name"), str)
            and language.is_plain(name)
        ]
        often = Counter(name for name, _ in names)
        yield from ((name, alias) for name, alias in names if often[name] == 1)
        for alias, target in targets.items():
            if isinstance(target, list):
                yield from ((name, alias) for name, paths in self._expanded.items() if paths is target)
            elif target in self._given:
                yield target, alias

    def _targets(self, instance: _Instance, dependencies: JsonObject) -> dict[str, Target]:
        targets: dict[str, Target] = {}
        for alias, name in dependencies.items():
            place = f"resources.{instance.path}.dependencies.{alias}"
            if isinstance(name, str) and name in self._wanted:
                targets[alias] = name
            elif isinstance(name, str) and name in self._expanded and (self._expanded[name] or not self._made[name]):
                targets[alias] = self._expanded[name]
            elif name is not None:  # else its expression was refused
                self._evaluator.refuse(place, self._reason_without(instance, name))
        return targets

    def _reason_without(self, instance: _Instance, name: Json) -> str:
        """Say why a dependency leads nowhere."""
        if not isinstance(name, str):
            return f"must name a resource, and is {document.describe(name)}"
        if name in self._disabled or name in self._expanded:
            return f"{name} is disabled by its when, and {instance.path} needs it; give both the same when"
        known = [*self._given, *self._wanted]
        return f'there is no resource "{name[:_SHOWN_CHARACTERS]}"{nearest(name, known)}'

    def _scope(self, instance: _Instance) -> Scope:
        """What expressions outside of config may name."""
        dependencies = _object(instance.given, "dependencies")
        elsewhere = self._explain_in(instance.name)

        def explain_early(unknown: str) -> str:
            if unknown in dependencies:
                return f"{unknown} is known only when it has settled; only config and outputs can name it"
            return elsewhere(unknown)

        return Scope({**self._names, **instance.each}, explain_early)

    def _explain_in(self, resource: str, late: list[str] | None = None) -> Callable[[str], str]:
        """Return what says why a name is unknown in a resource."""

        def explain_unknown(unknown: str) -> str:
            if unknown in self._given and unknown != resource:
                return f"{unknown} is another resource; add it to dependencies, as in {{{unknown}: {unknown}}}"
            if unknown == "each":
                return "each is known only where for_each is given"
            return explain(unknown, [*(late or ()), *self._names])

        return explain_unknown

    def _explain(self, unknown: str) -> str:
        """Say why a name is unknown outside of resources."""
        if unknown in self._disabled:
            return f"{unknown} is disabled by its when"
        return explain(unknown, [*self._given, *self._names])


def _late(noted: Noted, known: Mapping[str, Target], each: JsonObject) -> JsonObject:
    names: JsonObject = {root: cast(Json, known[root]) for root in sorted(noted.roots)}
    return {"pointers": [*noted.pointers], "names": names, **(each if noted.needs_each else {})}


def _object(parent: Mapping[str, Json], key: str) -> JsonObject:
    """Return an object of a manifest, whose schema was checked; where there is none, an empty one."""
    found = parent.get(key)
    return found if isinstance(found, dict) else {}
