"""One storm: what happens is drawn from a seed, so that the same seed is the same storm.

    storm = Storm(seed=7, profile=Profile.LITERAL)
    assert storm.run() == []

It ends by letting all come to rest, which is judged, and by removing everything, which must leave nothing.
"""

import contextlib
import random
from collections.abc import Callable
from dataclasses import replace

from support.unit_storm.charm import charm
from support.unit_storm.secrecy import Secrecy
from tinkwell.core import errors
from tinkwell.core.unit.effect import BagEdit, Effects, TaskOutcome
from tinkwell.core.unit.invariant import Violation
from tinkwell.core.unit.kinds import EventKind, EventState, Owner, Profile, TaskState
from tinkwell.core.unit.world import Running, World

APPLICATIONS = ("web", "pg", "bare")
MOST_UNITS = 4
_REQUESTED = (EventKind.PRE_SERIES_UPGRADE, EventKind.POST_SERIES_UPGRADE, EventKind.COLLECT_METRICS)


class Storm:
    """A world and what happens to it by chance: `steps` happen, and `most_steps` until all come to rest."""

    def __init__(self, *, seed: int, profile: Profile, steps: int = 300, most_steps: int = 20_000) -> None:
        self._chance = random.Random(f"{profile} {seed}")
        self.world, self._secrecy = World(clock=lambda: self._secrecy.now), Secrecy(self._chance)
        self._profile = profile
        self._steps = steps
        self._most_steps = most_steps
        self._versions: dict[str, int] = {}
        self._requests: list[tuple[Callable[[], object], int]] = [
            (self._deploy, 8),
            (self._add_unit, 6),
            (self._relate, 8),
            (self._unrelate, 3),
            (self._set_config, 7),
            (self._refresh, 2),
            (self._remove_unit, 3),
            (self._remove_application, 1),
            (self._storage, 3),
            (self._request, 3),
            (self._tick, 4),
            (self._hold, 2),
            (self._silence, 3),
            (self._skip, 3),
            (self._run_task, 5),
            (self._cancel_task, 1),
            (self._pass_time, 4),
            (self._use_secret, 5),
        ]

    def run(self) -> list[Violation]:
        """Let it happen, and return every violation."""
        self._deploy()
        for _ in range(self._steps):
            if self._chance.random() < 0.2:
                self._ask()
            else:
                self._work()
        self.settle()
        found = self.world.check(is_at_rest=True)
        if not found:
            self.clear()
            found = self.world.check(is_at_rest=True)
        return found

    def settle(self) -> None:
        """Let all agents come back, all machines be free, and everything that failed be tried again, until rest."""
        for unit in self.world.living():
            self.world.hear(unit)
            self.world.hold(unit, is_held=False)
        for _ in range(self._most_steps):
            for application in self.world.applications:
                self.world.elect(application)
            units = [unit for unit in self.world.living() if self.world.is_busy(unit)]
            if not units:
                return
            self._step(self._chance.choice(units))
        raise AssertionError("the storm never comes to rest")

    def clear(self) -> None:
        """Remove everything, and let it go."""
        for application in [*self.world.applications]:
            self.world.remove_application(application)
        self.settle()
        left = [*self.world.units, *self.world.relations, *self.world.applications]
        assert not left, f"{left} are left"

    # What agents do

    def _work(self) -> None:
        units = [unit for unit in self.world.living() if self.world.units[unit].is_heard]
        if units:
            unit = self._chance.choice(units)
            running = self.world.running(unit)
            if self.world.running_task(unit):
                self._end_task(unit)
            elif running is None or running.state is EventState.ERROR or running.is_lost:
                self._grant(unit, may_retry=self._chance.random() < 0.5)
            else:
                self._end(unit, running)

    def _step(self, unit: str) -> None:
        running = self.world.running(unit)
        if self.world.running_task(unit):
            self._commit_task(unit)
        elif running is None or running.state is EventState.ERROR or running.is_lost:
            self._grant(unit)
        else:
            self._commit(unit, running)

    def _grant(self, unit: str, *, may_retry: bool = True) -> None:
        # A unit that owes nothing any more is gone after it.
        if not self.world.grant(unit, may_retry=may_retry) and unit in self.world.living():
            self.world.grant_task(unit)

    def _end_task(self, unit: str) -> None:
        match self._chance.random():
            case chance if chance < 0.1:
                self.world.lose_task(unit)
            case chance if chance < 0.3:
                state = self._chance.choice([TaskState.FAILED, TaskState.TIMEOUT, TaskState.CANCELLED])
                self.world.commit_task(unit, TaskOutcome(state=state))
            case _:
                self._commit_task(unit)

    def _commit_task(self, unit: str) -> None:
        # What is its application's needs the lead, which has gone elsewhere meanwhile.
        with contextlib.suppress(errors.NotLeader):
            self.world.commit_task(unit, TaskOutcome(state=TaskState.SUCCEEDED), self._effects(unit))

    def _end(self, unit: str, running: Running) -> None:
        match self._chance.random():
            case chance if chance < 0.1:
                self.world.fail(unit, "it was to fail")
            case chance if chance < 0.2:
                self.world.lose(unit)
            case _:
                self._commit(unit, running)

    def _commit(self, unit: str, running: Running) -> None:
        with contextlib.suppress(errors.NotLeader):
            self.world.commit(unit, self._effects(unit, running.event.kind))

    def _effects(self, unit: str, kind: EventKind | None = None) -> Effects:
        """Write to bags and secrets, now and then: nothing would come to rest if everybody answered for ever."""
        effects = self._bags(unit)
        secrets = tuple(self._secrecy.edits(self.world, unit, kind))
        return replace(effects, secrets=secrets, term=self.world.view(unit).term)

    def _bags(self, unit: str) -> Effects:
        if self._chance.random() > 0.15:
            return Effects()
        view, ledger = self.world.view(unit), self.world.ledger(unit)
        numbers = [number for number, told in ledger.relations.items() if not told.broken and number in view.relations]
        if not numbers:
            return Effects()
        edits = []
        for number in self._chance.sample(numbers, min(len(numbers), 2)):
            edits.append(self._edit(number, Owner.UNIT))
            if view.leads and self._chance.random() < 0.4:
                edits.append(self._edit(number, Owner.APPLICATION))
        return Effects(bags=tuple(edits))

    def _edit(self, number: int, owner: Owner) -> BagEdit:
        return BagEdit(relation=number, owner=owner, edits={"key": str(self._chance.randrange(3))})

    # What operators ask

    def _ask(self) -> None:
        requests, weights = zip(*self._requests, strict=True)
        request = self._chance.choices(requests, weights)[0]
        with contextlib.suppress(errors.IllegalTransition, errors.AlreadyExists, errors.InvalidField, errors.NotFound):
            request()

    def _deploy(self) -> None:
        name = self._chance.choice(APPLICATIONS)
        self._versions[name] = 1
        self.world.deploy(name, charm(name, 1), self._chance.randrange(3), profile=self._profile, machine="m")

    def _application(self) -> str:
        return self._chance.choice([*self.world.applications] or ["web"])

    def _unit(self) -> str:
        return self._chance.choice(self.world.living() or ["web/0"])

    def _add_unit(self) -> None:
        application = self._application()
        if sum(unit.application == application for unit in self.world.units.values()) < MOST_UNITS:
            free = [name for name, storage in self.world.storages.items() if not storage.unit]
            self.world.add_units(application, machine="m", attach=free[:1] if self._chance.random() < 0.5 else ())

    def _relate(self) -> None:
        ends = self._chance.choice([("up", "down"), ("down", "up"), ("out", "in"), ("in", "out")])
        self.world.relate(f"{self._application()}:{ends[0]}", f"{self._application()}:{ends[1]}")

    def _unrelate(self) -> None:
        self.world.unrelate(self._chance.choice([*self.world.relations] or [1]))

    def _set_config(self) -> None:
        self.world.set_config(self._application(), {"size": self._chance.randrange(5)})

    def _refresh(self) -> None:
        name = self._application()
        version = self._versions.get(name, 1) + 1
        if self._chance.random() < 0.3:
            version = max(1, version - 2)
        self.world.refresh(name, charm(name, version, with_new_peers=self._profile is Profile.JUJU))
        self._versions[name] = version

    def _remove_unit(self) -> None:
        forced, kept = self._chance.random() < 0.3, self._chance.random() < 0.3
        self.world.remove_unit(self._unit(), is_forced=forced, keep_storage=kept)

    def _remove_application(self) -> None:
        self.world.remove_application(self._application(), is_forced=self._chance.random() < 0.2)

    def _storage(self) -> None:
        names = [*self.world.storages] or ["data/0"]
        match self._chance.randrange(3):
            case 0:
                self.world.add_storage(self._unit(), self._chance.choice(["data", "more"]))
            case 1:
                self.world.detach(self._chance.choice(names))
            case _:
                self.world.attach(self._unit(), self._chance.choice(names))

    def _request(self) -> None:
        units = self.world.units
        begun = [unit for unit in self.world.living() if units[unit].asked.finished < units[unit].asked.prepared]
        if begun and self._chance.random() < 0.5:
            self.world.request(self._chance.choice(begun), EventKind.POST_SERIES_UPGRADE)
        else:
            self.world.request(self._unit(), self._chance.choice(_REQUESTED))

    def _tick(self) -> None:
        self.world.tick(self._unit())

    def _hold(self) -> None:
        self.world.hold(self._unit(), is_held=self._chance.random() < 0.4)

    def _silence(self) -> None:
        unit = self._unit()
        if self.world.units.get(unit) and self.world.units[unit].is_heard:
            self.world.silence(unit)
        else:
            self.world.hear(unit)

    def _skip(self) -> None:
        self.world.skip(self._chance.choice(self.world.failed() or ["web/0"]))

    def _run_task(self) -> None:
        self.world.run_task(self._unit(), "backup")

    def _cancel_task(self) -> None:
        self.world.cancel_task(self._chance.choice([*self.world.tasks] or ["none"]))

    def _pass_time(self) -> None:
        self._secrecy.pass_time()

    def _use_secret(self) -> None:
        self._secrecy.ask(self.world, self._application())
