"""What is to be done in a run: releases, what is done to each one after the other, and how that is meant to end."""

import copy
import dataclasses
import random
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from support.release_chaos import journal
from tinkwell.core.event.kinds import State

RESOURCES = 10
_NEVER = 1_000_000
_TOO_LONG_SECONDS = 60
_SUCCEEDS = frozenset({State.SUCCEEDED})
_FAILS = frozenset({State.FAILED})
_IS_CANCELLED = frozenset({State.CANCELLED, State.SUCCEEDED})
# The weights of the stories below, which sum to 100.
_STORIES = {
    "stays": 30,
    "changes": 20,
    "goes": 12,
    "returns": 8,
    "fails": 10,
    "times out": 4,
    "is put back": 6,
    "is cancelled": 10,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An operation to be: it applies `resources`, or rolls back to a revision, or without either uninstalls.

    `wants` is what the resources hold after its success, `put_back` after that of the operation that makes up for it.
    `cancel_after` is in seconds.
    """

    operation_id: str
    resources: Mapping[str, Any] | None = None
    revision: int = 0
    ends: frozenset[State] = _SUCCEEDS
    culprit: str = ""
    wants: Mapping[str, str] = dataclasses.field(default_factory=dict)
    put_back: Mapping[str, str] | None = None
    cancel_after: float | None = None
    cancels_now: bool = False


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
        first = self._resources()
        (kind,) = self._chance.choices([*_STORIES], [*_STORIES.values()])
        installed = self._apply(first)
        match kind:
            case "changes":
                return installed, self._apply(self._changed(first))
            case "goes":
                return installed, self._change()
            case "returns":
                changed = self._apply(self._changed(first))
                return installed, changed, self._change(revision=1, wants=installed.wants)
            case "fails":
                bad, culprit = self._failing(first)
                return self._apply(bad, ends=_FAILS, culprit=culprit), installed
            case "times out":
                bad, culprit = self._late(first)
                return self._apply(bad, ends=_FAILS, culprit=culprit), installed
            case "is put back":
                bad, culprit = self._failing(self._changed(first))
                put_back = self._apply(bad, ends=_FAILS, culprit=culprit, put_back=installed.wants)
                return installed, put_back
            case "is cancelled":
                return self._cancelled(first), installed
            case _:
                return (installed,)

    def _cancelled(self, resources: Mapping[str, Any]) -> Change:
        return self._apply(
            resources,
            ends=_IS_CANCELLED,
            cancel_after=self._pace * self._chance.uniform(0.1, 8),
            cancels_now=self._chance.random() < 0.5,
        )

    def _apply(self, resources: Mapping[str, Any], **more: Any) -> Change:
        return self._change(resources=resources, wants=contents(resources), **more)

    def _change(self, **more: Any) -> Change:
        return Change(operation_id=str(uuid.UUID(int=self._chance.getrandbits(128), version=4)), **more)

    def _resources(self) -> dict[str, Any]:
        """Draw resources, each of which depends on some of those before; some say what a dependency holds."""
        resources: dict[str, Any] = {}
        for number in range(RESOURCES):
            before = self._chance.sample(sorted(resources), min(len(resources), self._chance.choice((0, 0, 1, 1, 2))))
            name = f"r{number}"
            content = f"{name} v1"
            if before and self._chance.random() < 0.3:
                content += f" of {{{{ {before[0]}.state.content }}}}"
            resources[name] = {
                "type": journal.IMAGE,
                "dependencies": {other: other for other in before},
                "config": self._config(content),
                "timeouts": {"action": 120, "state": 120},
            }
        return resources

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

    def _changed(self, resources: Mapping[str, Any]) -> dict[str, Any]:
        """Return resources of which three hold something else, one is new, and two are gone that nothing needs."""
        changed = copy.deepcopy(dict(resources))
        needed = {other for resource in changed.values() for other in resource["dependencies"]}
        idle = [name for name in changed if name not in needed]
        for name in self._chance.sample(idle, min(2, len(idle))):
            del changed[name]
        for name in self._chance.sample(sorted(changed), 3):
            config = changed[name]["config"]
            config["content"] = config["content"].replace(f"{name} v1", f"{name} v2")
        changed["new"] = {
            "type": journal.IMAGE,
            "dependencies": {"other": self._chance.choice(sorted(changed))},
            "config": self._config("new"),
        }
        return changed

    def _failing(self, resources: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Return resources one of which fails, and its name."""
        bad, culprit = self._spoilt(resources)
        config, resource = bad[culprit]["config"], bad[culprit]
        config["actions"][-1]["first_good_attempt"] = _NEVER
        resource["retries"] = 0
        return bad, culprit

    def _late(self, resources: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Return resources one of which takes too long, and its name."""
        bad, culprit = self._spoilt(resources)
        bad[culprit]["config"]["actions"][-1]["seconds"] = _TOO_LONG_SECONDS
        bad[culprit] |= {"retries": 0, "timeouts": {"action": self._chance.randint(1, 3), "state": 120}}
        return bad, culprit

    def _spoilt(self, resources: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Return resources one of which is to be spoilt, which acts once, and its name."""
        bad = copy.deepcopy(dict(resources))
        # What is new is removed again, without a second attempt where that is killed.
        culprit = self._chance.choice(sorted(bad.keys() - {"new"}))
        config = bad[culprit]["config"]
        config["content"] += " in vain"
        config["actions"] = [{"seconds": self._seconds(0.05, 0.5), "first_good_attempt": 1}]
        return bad, culprit


def contents(resources: Mapping[str, Any]) -> dict[str, str]:
    """Return what resources hold once all of them are there; each stands behind those that it depends on."""
    found: dict[str, str] = {}
    for name, resource in resources.items():
        text: str = resource["config"]["content"]
        for other in resource["dependencies"].values():
            text = text.replace(f"{{{{ {other}.state.content }}}}", found[other])
        found[name] = text
    return found
