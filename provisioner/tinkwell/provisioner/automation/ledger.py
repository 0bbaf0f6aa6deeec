"""What a rule set has seen, what it owes, and how far its positions may move: pure.

Events go in by revision, effects come out. The position of the set moves to just before the first event about which
something is still to be done, each expecting rule's to just before the first event whose expectation is not settled.
Whoever begins again after the smallest of them, and hands in everything once more, gets all effects that were not
finished, each again under its key: what lies up to a position is only looked at by those whose position it is not.

Deadlines of one rule pass in the order in which its expectations were opened, so nothing that was finished lies behind
something open, and a restart repeats no alarm.
"""

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime

from tinkwell.provisioner.automation import expectation
from tinkwell.provisioner.automation.rule import expression, matching, model

logger = logging.getLogger(__name__)


class Ledger:
    """What is owed by one rule set. `begun` are the revisions of positions as they were read."""

    def __init__(self, rules: model.RuleSet, begun: Mapping[str, int]) -> None:
        self._rules = rules
        self._begun = dict(begun)
        self._owed: dict[int, int] = {}
        self._expected = {
            each.name: expectation.Expectations(each.trigger.within)
            for each in rules.rules
            if isinstance(each.trigger, model.Expected)
        }
        self.seen = min(begun.values())

    @property
    def is_settled(self) -> bool:
        """Whether nothing is being done; expectations may be open."""
        return not self._owed and not any(expected.is_handling for expected in self._expected.values())

    @property
    def open_count(self) -> int:
        """How many expectations are open."""
        return sum(len(expected) for expected in self._expected.values())

    def undecided(self, sight: matching.Sight) -> Iterator[tuple[str, expression.Expression]]:
        """Iterate over what must be known before an event is taken: conditions of what is expected, and their rules.

        What is expected depends on the order of events, so none can be taken before that is known of the one before.
        """
        for each in self._rules.expecting:
            assert isinstance(each.trigger, model.Expected)
            for pattern in (each.trigger.event, each.trigger.after):
                if self._is_new(each, sight) and matching.matches(pattern, sight, rule_name=each.name) is None:
                    assert pattern.condition is not None
                    yield each.name, pattern.condition

    def take(self, sight: matching.Sight, *, at: datetime) -> list[model.Effect]:
        """Take the next event, made `at` a time, and return what is to be done about it; each is to be finished."""
        event = sight.event
        effects: list[model.Effect] = []
        for each in self._rules.rules:
            match each.trigger:
                case model.Pattern() as pattern if self._is_new(each, sight):
                    found = matching.matches(pattern, sight, rule_name=each.name)
                    if found is not False:
                        condition = pattern.condition if found is None else None
                        effects.append(
                            model.Effect(rule_set=self._rules.name, rule=each, event=event, condition=condition)
                        )
                case model.Expected() as expected if self._is_new(each, sight):
                    self._look(each.name, expected, sight, at)
                case _:
                    pass
        if effects:
            self._owed[event.revision] = len(effects)
        self.seen = event.revision
        return effects

    def reach(self, revision: int) -> None:
        """Note that everything up to a revision has been taken."""
        self.seen = max(self.seen, revision)

    def next_deadline(self) -> datetime | None:
        """Return when the first open expectation should have been met."""
        deadlines = (expected.next_deadline() for expected in self._expected.values())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def overdue(self, now: datetime) -> list[model.Effect]:
        """Return what is to be done about what did not come before `now`; each is to be finished."""
        return [
            model.Effect(rule_set=self._rules.name, rule=each, event=event)
            for each in self._rules.rules
            if each.name in self._expected
            for event in self._expected[each.name].overdue(now)
        ]

    def finish(self, effect: model.Effect) -> None:
        """Note that an effect was done, has failed for good, or was not to be done."""
        revision = effect.event.revision
        if effect.rule.name in self._expected:
            self._expected[effect.rule.name].finish(revision)
        elif self._owed[revision] > 1:
            self._owed[revision] -= 1
        else:
            del self._owed[revision]

    def positions(self) -> dict[str, int]:
        """Return how far each position may be moved; none goes back. They are to be moved in this order.

        A rule that is new begins where the set is, so until its own position is stored the set's must not move on.
        """
        floors = {
            self._rules.position_of(each): self._floor(self._expected[each.name].oldest)
            for each in self._rules.expecting
        }
        # Events are taken in order, so the first owed is the smallest.
        floors[self._rules.position] = self._floor(next(iter(self._owed), None))
        return {name: max(floor, self._begun[name]) for name, floor in floors.items()}

    def _is_new(self, rule: model.Rule, sight: matching.Sight) -> bool:
        """Whether the position of a rule is not beyond an event."""
        is_expecting = rule.name in self._expected
        position = self._rules.position_of(rule) if is_expecting else self._rules.position
        return sight.event.revision > self._begun[position]

    def _floor(self, first: int | None) -> int:
        return self.seen if first is None else first - 1

    def _look(self, name: str, expected: model.Expected, sight: matching.Sight, at: datetime) -> None:
        # An event may be both: each heartbeat ends the wait for it, and begins the one for the next.
        if matching.matches(expected.event, sight, rule_name=name):
            self._expected[name].arrive(sight.event.resource_id, at=at)
        if matching.matches(expected.after, sight, rule_name=name) and not self._expected[name].expect(
            sight.event, at=at
        ):
            fields = {"rule": name, "event": sight.event.id, "limit": expectation.MAX_OPEN}
            logger.error("nothing is expected after an event, because too much is expected already", extra=fields)
