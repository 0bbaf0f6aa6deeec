"""What is to happen: at which deed a provisioner is stopped, in which operation, and what is done to it then."""

import dataclasses
import enum
import itertools
import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from support.release_chaos import chart, journal, life
from support.release_chaos.life import Life
from support.release_chaos.scenario import Change, contents
from support.release_history.record import OWN, Charts
from support.release_kill.deed import Deed, Moment
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import Wait

# The runs of an operation below, at least: two resources are asked what they are, their state, and that once more after
# actions, of which the first has two.
_INSTALL_RUNS, _INSTALL_ANSWERS, _INSTALL_ACTIONS, _RESOURCES = 9, 6, 3, 2
_REMOVAL_SHARE = 0.3
CHART_SHARE = 0.5
# With a resource in each chart but the first: one is told by an output, the next one by an output and an input.
_CHARTS = Charts(
    Wait.ORDERED,
    {"top": ("a", "b"), "top.a": ("c",), "top.a.c": (), "top.b": ()},
    {
        "top": frozenset({("a", "b"), ("b", OWN)}),
        "top.a": frozenset({("c", OWN)}),
        "top.a.c": frozenset(),
        "top.b": frozenset(),
    },
)
_HANDLERS = {
    "top": ("pre-install", "a:ready", "post-install", "pre-delete"),
    "top.a": ("pre-install", "post-install"),
    "top.a.c": ("post-install", "pre-delete"),
    "top.b": ("wait", "post-delete"),
}
_ONCE = frozenset({Deed.ACQUIRE, Deed.PLAN, Deed.FINISH})
_IS_CANCELLED = frozenset({State.CANCELLED, State.SUCCEEDED})
_OF_ACTIONS = frozenset({Deed.INTENT, Deed.REPORT})


class Fate(enum.StrEnum):
    """What is done once a provisioner has stopped at its deed."""

    RETURN = "it is killed and comes back"
    NEIGHBOUR = "it is killed, and a neighbour on its engine takes over"
    ELSEWHERE = "it is killed, and one on another engine takes over"
    DREAM = "it stays frozen until a neighbour on its engine has taken over"
    SERVER = "it goes on, and the server is killed"
    CANCEL = "its operation is cancelled, and it goes on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One of the points: it is stopped when it does a deed for the nth time, in an installation or a removal.

    With `is_chart` the release is made of a chart with subcharts, instead of a manifest. `lateness` is from 0 to 1, for
    what need not happen at once.
    """

    number: int
    deed: Deed
    moment: Moment
    nth: int
    fate: Fate
    removes: bool = False
    is_chart: bool = False
    lateness: float = 0.5

    @property
    def release(self) -> str:
        """The name of its release, and of the namespace that this has to itself."""
        return f"kill-{self.number}"

    def __str__(self) -> str:
        what = "uninstall" if self.removes else "install"
        of = "a chart" if self.is_chart else "a manifest"
        return f"{self.release} ({what} {of}; {self.moment} it {self.deed}, {self.nth}: {self.fate})"


def draw(chance: random.Random, count: int, *, chart_share: float = CHART_SHARE) -> Sequence[Case]:
    """Draw so many cases, a share of charts: all deeds meet all fates before any does for the second time."""
    moments = (Moment.BEFORE, Moment.AFTER)
    points = [(deed, moment) for deed in Deed if deed is not Deed.INPUT for moment in moments]
    pairs = list(itertools.product([*points, (Deed.INPUT, Moment.AMID)], Fate))
    drawn: list[Case] = []
    while len(drawn) < count:
        for (deed, moment), fate in chance.sample(pairs, len(pairs)):
            removes = deed is not Deed.ANSWER and chance.random() < _REMOVAL_SHARE
            drawn.append(
                Case(
                    number=len(drawn) + 1,
                    deed=deed,
                    moment=moment,
                    nth=chance.randint(1, _times(deed, removes=removes)),
                    fate=fate,
                    removes=removes,
                    is_chart=chance.random() < chart_share,
                    lateness=chance.random(),
                )
            )
    return drawn[:count]


def installation(case: Case) -> Change:
    """Return the operation that installs its release, which it is stopped in, or which comes before that one."""
    resources = _of_charts(case) if case.is_chart else _of_manifest(case)
    sent: dict[str, Any] = {"resources": chart.plain(resources)}
    if case.is_chart:
        lived = Life(_hooks(case), _HANDLERS)
        charts = dataclasses.replace(_CHARTS, heard=life.heard(lived, _CHARTS))
        sent = {
            "chart": chart.pack(charts, {**resources, **lived.hooks}, life.scripts(lived, charts)),
            "charts": charts,
        }
    change = Change(operation_id=str(uuid.uuid4()), wants=contents(resources), **sent)
    return change if case.removes else _meant(case, change)


def removal(case: Case) -> Change:
    """Return the operation that removes its release."""
    return _meant(case, Change(operation_id=str(uuid.uuid4())))


def _meant(case: Case, change: Change) -> Change:
    """Say how an operation may end that it is stopped in."""
    if case.fate is not Fate.CANCEL:
        return change
    return dataclasses.replace(change, ends=_IS_CANCELLED, cancels_now=case.lateness < 0.5)


def _of_manifest(case: Case) -> Mapping[str, Any]:
    """Return two resources, of which the second needs the first."""
    text = "{{ first.state.content }}"
    second = _resource(f"of {text}", seconds=(0.4 * (1 - case.lateness),), reads={text: "first"})
    return {"first": _first(case), "second": second | {"dependencies": {"first": "first"}}}


def _of_charts(case: Case) -> Mapping[str, Any]:
    """Return three resources, in a chart within one, in that, and in the one beside it."""
    output, given = "{{ subcharts.c.outputs.text }}", "{{ inputs.text }}"
    return {
        "top.a.c:first": life.telling(_first(case)),
        "top.a:second": _resource(
            f"of {output}", seconds=(0.4 * (1 - case.lateness),), reads={output: "top.a.c:first"}
        ),
        "top.b:third": _resource(f"and of {given}", seconds=(0.1,), reads={given: "top.a:second"}),
    }


def _hooks(case: Case) -> Mapping[str, Any]:
    """Return hooks around these."""
    return {
        "top.a.c:hook-first": _hook(case, "pre-install"),
        "top.a:hook-last": _hook(case, "post-install"),
        "top:hook-leaving": _hook(case, "pre-delete"),
        "top.b:hook-gone": _hook(case, "post-delete"),
    }


def _first(case: Case) -> dict[str, Any]:
    return _resource(f"first of {case.number}", seconds=(0.05, 0.4 * case.lateness))


def _hook(case: Case, event: str) -> dict[str, Any]:
    described = _resource(f"{event} of {case.number}", seconds=(0.05, 0.1 * case.lateness))
    return described | {"hook": {"events": [event]}}


def _times(deed: Deed, *, removes: bool) -> int:
    """Return how often a deed is done at least."""
    if deed in _ONCE:
        return 1
    if removes or deed is Deed.READY:
        return _RESOURCES
    if deed in _OF_ACTIONS:
        return _INSTALL_ACTIONS
    return _INSTALL_ANSWERS if deed is Deed.ANSWER else _INSTALL_RUNS


def _resource(content: str, *, seconds: Sequence[float], reads: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {
        "type": journal.IMAGE,
        "dependencies": {},
        "reads": reads or {},
        "config": {
            "content": content,
            "looks": 0.0,
            "settles": 0,
            "actions": [{"seconds": each, "first_good_attempt": 1} for each in seconds],
            "destroy_seconds": 0.1,
        },
    }
