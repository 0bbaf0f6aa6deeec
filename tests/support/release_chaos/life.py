"""What is in the life of charts by chance: hooks, and scripts whose handlers hear events, one of which may fail.

Where there are scripts, that of each chart gives it the value that `VALUE` stands for before anything is rendered. So
what resources hold tells whether its handler was heard, be it by a rollback.
"""

import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Any

from support.release_chaos import chart
from support.release_history.record import HOOK, Charts
from tinkwell.core.release.lifecycle_event.path import event_node, hook_node
from tinkwell.core.release.manifest.name import join_chart, split_chart

VALUE = "{{ values.told }}"
TOLD = "told"
_HOOK_EVENTS = (
    ("pre-install", "pre-upgrade"),
    ("post-install", "post-upgrade"),
    ("pre-rollback",),
    ("post-rollback",),
    ("pre-delete",),
    ("post-delete",),
    ("test",),
)
_HEARD = (
    *("chart-loaded", "pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback"),
    *("pre-delete", "post-delete", "pre-test", "post-test", "wait", "ready"),
)
# These are emitted once for all charts, before there is a plan.
_OF_PREPARATION = ("pre-render", "post-render", "post-validate")
_HEARD_SHARE = 0.3
_WARNED_SHARE = 0.2
_NEVER = 1_000_000
_BEGIN = f"""\
  events.on("pre-render", 0.5, function (name, namespace, chart, values) values.told = "{TOLD}" end)
  events.on("post-render", 0.5, function (name, namespace, chart, values, manifest, context)
    if values.told ~= "{TOLD}" or manifest == nil or context.objects == nil then fail("not all is there") end
  end)
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Life:
    """Hooks by their paths, and what the scripts of charts hear, by the paths of these.

    It may be an event of a subchart, such as `a0:ready`. `fails` is the chart whose script fails, and at which event.
    With `is_warned` a handler of the root fails at `ready`, by which nothing else does.
    """

    hooks: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    handlers: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    fails: tuple[str, str] = ("", "")
    is_warned: bool = False

    @property
    def is_scripted(self) -> bool:
        """Whether the charts have scripts, all of them or none."""
        return bool(self.handlers)


def draw(chance: random.Random, charts: Charts, describe: chart.Describe) -> Life:
    """Draw the life of charts, whose hooks are resources that are described."""
    hooks = {}
    for number in range(chance.choice((0, 2, 3, 4))):
        path = join_chart(chance.choice(sorted(charts.children)), f"{HOOK}-{number}")
        hooks[path] = _hook(path, describe, events=chance.choice(_HOOK_EVENTS), weight=chance.choice((0, 1)))
    if chance.random() < 0.3:
        return Life(hooks)
    handlers = {}
    for path, children in charts.children.items():
        heard = [event for event in _HEARD if chance.random() < _HEARD_SHARE]
        handlers[path] = (*heard, *(f"{name}:ready" for name in children if chance.random() < _HEARD_SHARE))
    return Life(hooks, handlers, is_warned=chance.random() < _WARNED_SHARE)


def failing(
    chance: random.Random, life: Life, charts: Charts, describe: chart.Describe, *, verb: str, may_begin: bool
) -> tuple[Life, str]:
    """Return a life in which a hook or a handler fails when a verb is carried out, and the node that fails by that.

    Unless it `may_begin` without a plan, none fails before there is one; the event is what fails there.
    """
    path = chance.choice(sorted(charts.children))
    event = chance.choice((f"pre-{verb}", f"post-{verb}"))
    if not life.is_scripted or chance.random() < 0.4:
        bad = join_chart(path, f"{HOOK}-bad")
        hook = _hook(bad, describe, events=(event,), weight=0) | {"retries": 0}
        hook["config"] |= {"actions": [{"seconds": 0.1, "first_good_attempt": _NEVER}]}
        return dataclasses.replace(life, hooks={**life.hooks, bad: hook}), hook_node(bad, event)
    if may_begin and chance.random() < 0.4:
        event = chance.choice(_OF_PREPARATION)
        return dataclasses.replace(life, fails=(path, event)), event_node(chart.ROOT, event)
    return dataclasses.replace(life, fails=(path, event)), event_node(path, event)


def refusing(life: Life) -> tuple[Life, str]:
    """Return a life in which the root's script fails when the release is to be removed, and the node that fails."""
    return dataclasses.replace(life, fails=(chart.ROOT, "pre-delete")), event_node(chart.ROOT, "pre-delete")


def hooks(life: Life, charts: Charts) -> Mapping[str, Any]:
    """Return the hooks of these charts, some of which may be gone."""
    return {path: each for path, each in life.hooks.items() if split_chart(path)[0] in charts.children}


def scripts(life: Life, charts: Charts) -> Mapping[str, str]:
    """Return the scripts of these charts."""
    return {path: _script(life, charts, path) for path in charts.children} if life.is_scripted else {}


def heard(life: Life, charts: Charts) -> Mapping[str, frozenset[str]]:
    """Return which events of these charts something hears, be it a hook."""
    found: dict[str, set[str]] = {path: set() for path in charts.children}
    for path, hook in hooks(life, charts).items():
        found[split_chart(path)[0]].update(hook["hook"]["events"])
    for path in charts.children:
        for text in _registered(life, charts, path):
            name, _, event = text.rpartition(":")
            found[f"{path}.{name}" if name else path].add(event)
    return {path: frozenset(events) for path, events in found.items()}


def telling(resource: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resource that holds the value of its chart's script, too."""
    config = resource["config"]
    return {**resource, "config": {**config, "content": f"{config['content']} {VALUE}"}}


def _registered(life: Life, charts: Charts, path: str) -> Sequence[str]:
    """Return what the script of a chart hears of what is there."""
    names = charts.children[path]
    known = (text for text in life.handlers.get(path, ()) if ":" not in text or text.partition(":")[0] in names)
    return (*known, *(life.fails[1:] if path == life.fails[0] else ()))


def _script(life: Life, charts: Charts, path: str) -> str:
    lines = [
        f'  events.on("{text}", 0.25, function (name, namespace, chart, values) print(name .. " hears {text}") end)'
        for text in _registered(life, charts, path)
    ]
    if path == life.fails[0]:
        lines.append(f'  events.on("{life.fails[1]}", 1, function () fail("it is meant to fail") end)')
    if path == chart.ROOT and life.is_warned:
        lines.append('  events.on("ready", 1, function () fail("nobody minds this") end)')
    return "\n".join(("function init(events)", _BEGIN.rstrip(), *lines, "end", ""))


def _hook(path: str, describe: chart.Describe, *, events: Sequence[str], weight: int) -> dict[str, Any]:
    described = describe(path, [], {})
    described["config"]["settles"] = 0
    return described | {"hook": {"events": [*events], "weight": weight}}
