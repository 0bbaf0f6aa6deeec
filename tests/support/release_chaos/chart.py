"""Charts by chance: nested ones, with edges between them, whose resources say what those of others hold.

The resources of a release are a flat mapping, with or without charts: each stands behind those that it `reads`, which
says what expressions of its content stand for. `plain` and `pack` make of that what is sent.
"""

import dataclasses
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from support import chart_stage
from support.release_history.record import OWN, Charts
from tinkwell.core.release.kinds import Wait
from tinkwell.core.release.manifest.name import join_chart, split_chart

ROOT = "top"
# The only name of what is added later.
NEW = "new"
# Where a chart has its script.
SCRIPT = "ext/lua/init.lua"
_LEVELS = 3
_INPUT = "{{ inputs.text }}"

Resources = Mapping[str, Any]


class Describe(Protocol):
    """Draws a resource that may depend on others and read what expressions stand for."""

    def __call__(self, path: str, before: Sequence[str], readable: Mapping[str, str], /) -> dict[str, Any]: ...


def draw(chance: random.Random, describe: Describe) -> tuple[Charts, dict[str, Any]]:
    """Draw the charts of a release, and their resources."""
    drawn = _Draw(chance, describe)
    drawn.add(ROOT, level=1, readable={})
    return Charts(drawn.wait, drawn.children, drawn.edges), drawn.resources


class _Draw:
    def __init__(self, chance: random.Random, describe: Describe) -> None:
        self.wait = chance.choice([*Wait])
        self.children: dict[str, tuple[str, ...]] = {}
        self.edges: dict[str, frozenset[tuple[str, str]]] = {}
        self.resources: dict[str, Any] = {}
        self._chance = chance
        self._describe = describe

    def add(self, path: str, *, level: int, readable: Mapping[str, str]) -> None:
        """Add a chart and all that is in it."""
        chance = self._chance
        most = {1: (2, 3, 4), 2: (0, 0, 1, 2)}.get(level, (0,))
        self.children[path] = names = tuple(f"{'.abc'[level]}{number}" for number in range(chance.choice(most)))
        befores = {
            name: chance.sample(names[:number], min(number, chance.choice((0, 1, 1, 2))))
            for number, name in enumerate(names)
        }
        befores[OWN] = chance.sample(names, min(len(names), chance.choice((0, 1, 2))))
        self.edges[path] = frozenset((before, after) for after, those in befores.items() for before in those)
        for name in names:
            given = self._readable(path, befores[name], lambda _: _INPUT)
            self.add(f"{path}.{name}", level=level + 1, readable=dict([*given][:1]))
        below = self._readable(path, befores[OWN], lambda name: f"{{{{ subcharts.{name}.outputs.text }}}}")
        own: list[str] = []
        for number in range(chance.choice((0, 1, 2) if names else (1, 2, 3))):
            resource = join_chart(path, f"r{number}")
            self.resources[resource] = self._describe(resource, own, {**readable, **dict(below)})
            own.append(resource)

    def _readable(self, path: str, names: Sequence[str], write: Callable[[str], str]) -> Sequence[tuple[str, str]]:
        """Return the resource whose content each of these subcharts gives, if it has any, by what stands for it."""
        if self.wait is Wait.NONE:
            return ()
        given = {name: join_chart(f"{path}.{name}", "r0") for name in names}
        return [(write(name), resource) for name, resource in given.items() if resource in self.resources]


def change(chance: random.Random, charts: Charts, resources: Resources) -> tuple[Charts, dict[str, Any]]:
    """Return charts of which one is gone that nobody reads, one is new, and which may wait in another way."""
    children = dict(charts.children)
    edges = {path: frozenset(those) for path, those in charts.edges.items()}
    kept = dict(resources)
    idle = [path for path in children if path != ROOT and not _is_read(path, resources)]
    if idle and chance.random() < 0.5:
        gone = chance.choice(idle)
        parent, _, name = gone.rpartition(".")
        for path in [path for path in children if f"{path}.".startswith(f"{gone}.")]:
            del children[path], edges[path]
        children[parent] = tuple(each for each in children[parent] if each != name)
        edges[parent] = frozenset(edge for edge in edges[parent] if name not in edge)
        kept = {path: each for path, each in kept.items() if not f"{split_chart(path)[0]}.".startswith(f"{gone}.")}
    if children[ROOT] and chance.random() < 0.5:
        edges[ROOT] |= {(chance.choice(children[ROOT]), NEW)}
    children[ROOT] = (*children[ROOT], NEW)
    children[f"{ROOT}.{NEW}"], edges[f"{ROOT}.{NEW}"] = (), frozenset()
    is_wired = any(split_chart(path)[0] != split_chart(other)[0] for path, other in _read(kept))
    wait = chance.choice([Wait.ORDERED, Wait.EAGER] if is_wired else [*Wait])
    return dataclasses.replace(charts, wait=wait, children=children, edges=edges), kept


def plain(resources: Resources) -> dict[str, Any]:
    """Return the resources of one manifest, as it has them."""
    return {
        split_chart(path)[1]: {
            **{key: value for key, value in resource.items() if key != "reads"},
            "dependencies": {alias: split_chart(other)[1] for alias, other in resource["dependencies"].items()},
        }
        for path, resource in resources.items()
    }


def pack(charts: Charts, resources: Resources, scripts: Mapping[str, str]) -> bytes:
    """Return the archive of a chart; `scripts` are by the paths of charts."""
    outputs: dict[str, str] = {}
    inputs: dict[str, str] = {}
    for path, other in _read(resources):
        chart, (giver, own) = split_chart(path)[0], split_chart(other)
        if giver != chart:
            outputs[giver] = f"{{{{ {own}.state.content }}}}"
            parent, _, name = giver.rpartition(".")
            if parent != chart:
                inputs[chart] = f"{{{{ subcharts.{name}.outputs.text }}}}"

    def files(path: str) -> dict[str, str]:
        edges = sorted(charts.edges[path])
        entries = {
            name: {"depends-on": [before for before, after in edges if after == name]}
            | ({"inputs": {"text": inputs[f"{path}.{name}"]}} if f"{path}.{name}" in inputs else {})
            for name in charts.children[path]
        }
        found = chart_stage.chart(
            path.rpartition(".")[2],
            plain({each: resource for each, resource in resources.items() if split_chart(each)[0] == path}),
            subcharts={name: files(f"{path}.{name}") for name in charts.children[path]},
            dependencies=entries,
            waits_for=tuple(before for before, after in edges if after == OWN),
            outputs={"text": outputs[path]} if path in outputs else {},
        )
        return found | ({SCRIPT: scripts[path]} if path in scripts else {})

    return chart_stage.packed(files(ROOT))


def _read(resources: Resources) -> Iterator[tuple[str, str]]:
    """Iterate over the resources that say what others hold, with those."""
    for path, resource in resources.items():
        for other in resource["reads"].values():
            yield path, other


def _is_read(chart: str, resources: Resources) -> bool:
    """Whether something outside of a chart says what something in it holds."""
    inside = {path for path in resources if f"{split_chart(path)[0]}.".startswith(f"{chart}.")}
    return any(other in inside and path not in inside for path, other in _read(resources))
