"""What is to be done in a run: releases, what is done to each one after the other, and how that is meant to end."""

import copy
import dataclasses
import random
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from support.release_chaos import chart, journal, life
from support.release_chaos.life import Life
from support.release_history.record import Charts, is_of_hook
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import OnFailure, OperationKind, Wait
from tinkwell.core.release.manifest.name import join_chart, split_chart

RESOURCES = 10
_CHART_SHARE = 0.5
# Of what fails in charts, how much is a hook or a handler.
_LIFE_SHARE = 0.75
_NEVER = 1_000_000
_TOO_LONG_SECONDS = 60
_SUCCEEDS = frozenset({State.SUCCEEDED})
_FAILS = frozenset({State.FAILED})
_LOOKS = (OperationKind.PLAN, OperationKind.TEST)
_IS_CANCELLED = frozenset({State.CANCELLED, State.SUCCEEDED})
# The weights of the stories below, which sum to 100.
_STORIES = {
    "stays": 12,
    "changes": 20,
    "is looked at": 10,
    "goes": 12,
    "returns": 8,
    "fails": 18,
    "times out": 4,
    "is put back": 6,
    "is cancelled": 10,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An operation to be: it applies `resources`, brings a chart about, rolls back, `looks`, or else uninstalls.

    `chart` is an archive, and `charts` is what is in order where charts are installed, be it by a rollback. `wants` is
    what the resources hold after its success. `put_back` is the change whose success the operation restores that makes
    up for this one. `cancel_after` is in seconds.
    """

    operation_id: str
    resources: Mapping[str, Any] | None = None
    chart: bytes = b""
    charts: Charts | None = None
    revision: int = 0
    looks: OperationKind | None = None
    ends: frozenset[State] = _SUCCEEDS
    culprit: str = ""
    wants: Mapping[str, str] = dataclasses.field(default_factory=dict)
    put_back: "Change | None" = None
    on_failure: OnFailure = OnFailure.STOP
    cancel_after: float | None = None
    cancels_now: bool = False

    @property
    def installs(self) -> bool:
        """Whether it brings something about that is sent along."""
        return self.resources is not None or bool(self.chart)


@dataclasses.dataclass(frozen=True, slots=True)
class _Source:
    """All resources of a release by their paths, and its charts if it has any; see `chart`."""

    resources: Mapping[str, Any]
    charts: Charts | None = None
    life: Life = dataclasses.field(default_factory=Life)

    @property
    def packed(self) -> Mapping[str, Any]:
        """All that its manifests hold, where its scripts tell their value, too."""
        if self.charts is None or not self.life.is_scripted:
            return self.resources
        return {path: life.telling(resource) for path, resource in self.resources.items()}


@dataclasses.dataclass(frozen=True, slots=True)
class Errand:
    """A release to be: what is done to it, and when that begins, in seconds."""

    release: str
    begin_after: float
    changes: Sequence[Change]


def errands(chance: random.Random, count: int, *, over_seconds: float, pace: float) -> list[Errand]:
    """Draw releases, which begin within so many seconds; their calls take `pace` times as long as usual."""
    drawn = [_Draw(chance, pace) for _ in range(count)]
    moments = [chance.uniform(0, over_seconds) for _ in drawn]
    return [
        Errand(f"chaos-{number}", moment, draw.story())
        for number, (draw, moment) in enumerate(zip(drawn, moments, strict=True))
    ]


class _Draw:
    """Draws one release."""

    def __init__(self, chance: random.Random, pace: float) -> None:
        self._chance = chance
        self._pace = pace

    def story(self) -> Sequence[Change]:
        """Draw all that is done to it."""
        first = self._source()
        (kind,) = self._chance.choices([*_STORIES], [*_STORIES.values()])
        installed = self._apply(first)
        match kind:
            case "changes":
                return installed, self._apply(self._changed(first))
            case "goes":
                return self._going(first)
            case "is looked at":
                return (
                    installed,
                    *(self._change(looks=kind, wants=installed.wants) for kind in self._chance.sample(_LOOKS, 2)),
                    self._apply(self._changed(first)),
                )
            case "returns":
                changed = self._apply(self._changed(first))
                return installed, changed, self._change(revision=1, wants=installed.wants, charts=installed.charts)
            case "fails":
                bad, culprit = self._failing(first, "install")
                return self._failed(bad, culprit), installed
            case "times out":
                bad, culprit = self._late(first)
                return self._failed(bad, culprit), installed
            case "is put back":
                bad, culprit = self._failing(self._changed(first), "upgrade")
                put_back = self._apply(bad, ends=_FAILS, culprit=culprit, put_back=installed)
                return installed, put_back
            case "is cancelled":
                return self._cancelled(first), installed
            case _:
                return (installed,)

    def _going(self, source: _Source) -> Sequence[Change]:
        """Draw a release that is removed, or that its script keeps."""
        if not source.life.is_scripted or self._chance.random() < 0.5:
            return self._apply(source), self._change()
        kept, culprit = life.refusing(source.life)
        refused = self._change(ends=_FAILS, culprit=culprit)
        return self._apply(dataclasses.replace(source, life=kept)), refused

    def _failed(self, source: _Source, culprit: str) -> Change:
        on_failure = self._chance.choice([*OnFailure])
        return self._apply(source, ends=_FAILS, culprit=culprit, on_failure=on_failure)

    def _cancelled(self, source: _Source) -> Change:
        return self._apply(
            source,
            ends=_IS_CANCELLED,
            cancel_after=self._pace * self._chance.uniform(0.1, 8),
            cancels_now=self._chance.random() < 0.5,
        )

    def _apply(self, source: _Source, **more: Any) -> Change:
        if source.charts is None:
            sent: dict[str, Any] = {"resources": chart.plain(source.resources)}
        else:
            charts = dataclasses.replace(source.charts, heard=life.heard(source.life, source.charts))
            hooks, scripts = life.hooks(source.life, charts), life.scripts(source.life, charts)
            sent = {"chart": chart.pack(charts, {**_settled(source), **hooks}, scripts), "charts": charts}
        return self._change(wants=contents(source.packed), **sent, **more)

    def _change(self, **more: Any) -> Change:
        return Change(operation_id=str(uuid.UUID(int=self._chance.getrandbits(128), version=4)), **more)

    def _source(self) -> _Source:
        """Draw a release."""
        if self._chance.random() < _CHART_SHARE:
            charts, resources = chart.draw(self._chance, self._resource)
            return _Source(resources, charts, life.draw(self._chance, charts, self._resource))
        resources = {}
        for number in range(RESOURCES):
            resources[f"r{number}"] = self._resource(f"r{number}", sorted(resources), {})
        return _Source(resources)

    def _resource(self, path: str, before: Sequence[str], readable: Mapping[str, str]) -> dict[str, Any]:
        """Draw a resource that depends on some of those before; some say what one of these or something else holds."""
        named = self._chance.sample(before, min(len(before), self._chance.choice((0, 0, 1, 1, 2))))
        dependencies = {split_chart(other)[1]: other for other in named}
        texts = {f"{{{{ {alias}.state.content }}}}": other for alias, other in dependencies.items()}
        reads = dict([*texts.items()][:1]) if self._chance.random() < 0.3 else {}
        if readable and self._chance.random() < 0.6:
            text = self._chance.choice(sorted(readable))
            reads[text] = readable[text]
        return {
            "type": journal.IMAGE,
            "dependencies": dependencies,
            "reads": reads,
            "config": self._config("".join((f"{path} v1", *(f" of {text}" for text in reads)))),
            "timeouts": {"action": 120, "state": 120},
        }

    def _config(self, content: str) -> dict[str, Any]:
        return {
            "content": content,
            "looks": self._seconds(0, 0.2),
            "settles": self._chance.choices((0, self._seconds(0.5, 2)), (80, 20))[0],
            "actions": [self._action() for _ in range(self._chance.choices((1, 2, 3), (70, 20, 10))[0])],
            "destroy_seconds": self._seconds(0, 1),
        }

    def _action(self) -> dict[str, Any]:
        low, high = self._chance.choices(((0.05, 0.5), (1, 3), (5, 10)), (75, 20, 5))[0]
        first_good_attempt = self._chance.choices((1, 2), (95, 5))[0]
        return {"seconds": self._seconds(low, high), "first_good_attempt": first_good_attempt}

    def _seconds(self, low: float, high: float) -> float:
        return round(self._pace * self._chance.uniform(low, high), 2)

    def _changed(self, source: _Source) -> _Source:
        """Return resources of which three hold something else, one is new, and two are gone that nothing needs."""
        charts, resources = source.charts, source.resources
        if charts is not None:
            charts, resources = chart.change(self._chance, charts, resources)
        changed = copy.deepcopy(dict(resources))
        needed = {
            other for each in changed.values() for other in (*each["dependencies"].values(), *each["reads"].values())
        }
        idle = [path for path in changed if path not in needed]
        for path in self._chance.sample(idle, min(2, len(idle) - 1)):
            del changed[path]
        for path in self._chance.sample(sorted(changed), min(3, len(changed))):
            config = changed[path]["config"]
            config["content"] = config["content"].replace(f"{path} v1", f"{path} v2")
        other = self._chance.choice(sorted(changed))
        new = join_chart(split_chart(other)[0], chart.NEW)
        changed[new] = self._resource(new, [other], {})
        if charts is not None:
            added = join_chart(f"{chart.ROOT}.{chart.NEW}", chart.NEW)
            changed[added] = self._resource(added, [], {})
        return _Source(changed, charts, source.life)

    def _failing(self, source: _Source, verb: str) -> tuple[_Source, str]:
        """Return resources one of which fails, or a hook or a handler around them, and the path of its node."""
        if source.charts is not None and self._chance.random() < _LIFE_SHARE:
            # What fails before there is a plan has changed nothing, and is not made up for.
            bad_life, culprit = life.failing(
                self._chance, source.life, source.charts, self._resource, verb=verb, may_begin=verb == "install"
            )
            return dataclasses.replace(source, life=bad_life), culprit
        bad, culprit = self._spoilt(source)
        config, resource = bad[culprit]["config"], bad[culprit]
        config["actions"][-1]["first_good_attempt"] = _NEVER
        resource["retries"] = 0
        return dataclasses.replace(source, resources=bad), culprit

    def _late(self, source: _Source) -> tuple[_Source, str]:
        """Return resources one of which takes too long, and its path."""
        bad, culprit = self._spoilt(source)
        bad[culprit]["config"]["actions"][-1]["seconds"] = _TOO_LONG_SECONDS
        bad[culprit] |= {"retries": 0, "timeouts": {"action": self._chance.randint(1, 3), "state": 120}}
        return dataclasses.replace(source, resources=bad), culprit

    def _spoilt(self, source: _Source) -> tuple[dict[str, Any], str]:
        """Return resources one of which is to be spoilt, which acts once, and its path."""
        bad = copy.deepcopy(dict(source.resources))
        # What is new is removed again, without a second attempt where that is killed.
        culprit = self._chance.choice(sorted(path for path in bad if split_chart(path)[1] != chart.NEW))
        config = bad[culprit]["config"]
        config["content"] += " in vain"
        config["actions"] = [{"seconds": self._seconds(0.05, 0.5), "first_good_attempt": 1}]
        return bad, culprit


def _settled(source: _Source) -> Mapping[str, Any]:
    """Return the resources of charts; where nothing is waited for, they are ready as soon as they are written."""
    if source.charts is None or source.charts.wait is not Wait.NONE:
        return source.packed
    return {
        path: resource | {"config": resource["config"] | {"settles": 0}} for path, resource in source.packed.items()
    }


def contents(resources: Mapping[str, Any]) -> dict[str, str]:
    """Return what resources hold once all of them are there; each stands behind those that it reads."""
    found: dict[str, str] = {}
    for path, resource in resources.items():
        text: str = resource["config"]["content"].replace(life.VALUE, life.TOLD)
        for expression, other in resource["reads"].items():
            text = text.replace(expression, found[other])
        found[path] = text
    return {path: text for path, text in found.items() if not is_of_hook(path)}
