"""Follows the log for one rule set: takes events in order, has their effects done, and moves the positions on.

    watch ──▶ ledger ──effects──▶ lanes ──▶ performer ──▶ done ──▶ ledger ──▶ positions ──▶ server
                ▲                                                    ▲
             deadlines: what should have come, once all that did come has been taken

One task reads; whatever it is told to have done begins at once, as a task of its own, and may wait there: for what the
same rule still does about the same resource, for its condition where that may take long, then for one of the rule's
slots. Of such tasks there is a bounded number.
Full means wait: the watch is not read then, the server holds back, and at last lets the watch fall behind in the log,
from where it goes on later. So a slow webhook delays, and loses nothing.

A position is committed only as far as everything up to it has been done or has failed for good. Whoever begins after it
does the rest again, under the same keys.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NoReturn

from tinkwell.client import errors, retry
from tinkwell.client.event import client
from tinkwell.client.watch import watch
from tinkwell.provisioner.automation import ledger, position
from tinkwell.provisioner.automation.rule import evaluation, expression, matching, model

logger = logging.getLogger(__name__)

# So many effects are begun and not yet finished, over all rules.
MAX_BEGUN = 256
# Where nothing was done, positions need not follow every event: what lies behind them is only looked at again.
IDLE_COMMIT_SECONDS = 2.0
# Where nothing is committed for so long, it is asked whether another process has taken over.
CHECK_SECONDS = 5.0
# An event counts by when it was made; one made just before a deadline needs a moment until it can be had.
GRACE = timedelta(seconds=2)
# Where to begin in a log that is not the one that the positions are in.
LOOK_BACK_SECONDS = 300.0
HEAD_SECONDS = 30.0


Perform = Callable[[model.Effect], Awaitable[None]]


class Engine:
    """Runs one rule set until it is cancelled, or another process takes its position."""

    def __init__(
        self,
        api: client.EventClient,
        rules: model.RuleSet,
        perform: Perform,
        evaluator: evaluation.Evaluator,
        *,
        on_skip: matching.OnSkip = lambda rule_name: None,
        max_begun: int = MAX_BEGUN,
        grace: timedelta = GRACE,
    ) -> None:
        self._api = api
        self._rules = rules
        self._perform = perform
        self._evaluator = evaluator
        self._on_skip = on_skip
        self._grace = grace
        self._clock = position.DatabaseClock()
        self._positions = position.Positions(api, self._clock)
        self._room = asyncio.Semaphore(max_begun)
        # The last effect that was begun in each lane, until it has ended.
        self._lanes: dict[tuple[str, str], asyncio.Event] = {}
        # These two change together, without an await between. No history means that nothing may be committed yet.
        self._ledger = self._new_ledger({})
        self._history_id = ""
        # Set whenever the ledger has changed, for each of those who wait for that.
        self._is_ahead = asyncio.Event()
        self._is_done = asyncio.Event()
        self._is_taken = asyncio.Event()

    async def run(self) -> NoReturn:
        """Work until cancelled, which interrupts what runs; raises `position.Fenced` and fatal `errors.Error`s."""
        since_seconds = await self._begin_where_positions_are()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(group, since_seconds), name="follow")
            group.create_task(self._commit_again_and_again(), name="commit")
            group.create_task(self._await_deadlines(group), name="deadlines")
        raise AssertionError("its tasks never end by themselves")

    def _new_ledger(self, begun: Mapping[str, int]) -> ledger.Ledger:
        names = [self._rules.position, *map(self._rules.position_of, self._rules.expecting)]
        return ledger.Ledger(self._rules, {name: begun.get(name, 0) for name in names})

    async def _begin_where_positions_are(self) -> float | None:
        """Claim all positions; gives how many seconds back to begin instead, where these are new."""
        held = await self._positions.claim(self._rules.position)
        begun = {held.name: held.revision}
        for each in self._rules.expecting:
            own = await self._positions.claim(self._rules.position_of(each))
            # A rule that is new begins where the others are.
            is_usable = own.revision and own.history_id == held.history_id
            begun[own.name] = own.revision if is_usable else held.revision
        if held.revision:
            self._ledger, self._history_id = self._new_ledger(begun), held.history_id
        elif self._rules.since_seconds:
            return self._rules.since_seconds
        else:
            head, history_id = await self._head()
            self._ledger, self._history_id = self._new_ledger(dict.fromkeys(begun, head)), history_id
            await self._commit()
        return None

    async def _follow(self, group: asyncio.TaskGroup, since_seconds: float | None) -> None:
        """Take all events; where the server has them no more, go on with what it has."""
        while True:
            start: dict[str, Any] = {"since": since_seconds}
            if since_seconds is None:
                start = {"from_revision": self._ledger.seen + 1, "history_id": self._history_id}
            try:
                await self._read(group, start)
            except errors.HistoryGone as error:
                while not self._ledger.is_settled:  # nobody could begin these again
                    self._is_done.clear()
                    await self._is_done.wait()
                since_seconds = self._start_over(error)

    async def _read(self, group: asyncio.TaskGroup, start: Mapping[str, Any]) -> None:
        book = self._ledger

        def note(events: watch.Watch) -> None:
            self._history_id = events.history_id
            book.reach(events.revision)
            self._wake()

        def begin(events: watch.Watch) -> None:
            logger.info("events are followed", extra={"rules": self._rules.name, "after": book.seen})

        wanted = matching.wanted_of(self._rules.patterns)
        events = self._api.watch(**wanted, **start, on_created=begin, on_bookmark=note)
        async with contextlib.aclosing(events):
            async for found in events:
                self._history_id = events.history_id
                sight = matching.Sight(found, self._on_skip)
                for rule_name, condition in book.undecided(sight):
                    sight.decide(condition, holds=await self._holds(condition, sight, rule_name))
                effects = book.take(sight, at=found.created_at or self._clock.now())
                self._wake()
                await self._begin(group, book, effects)

    def _start_over(self, error: errors.HistoryGone) -> float | None:
        """Begin with the oldest events that there are; in a log that is another one, a little way back."""
        fields = {"rules": self._rules.name, "cause": str(error), "expectations_dropped": self._ledger.open_count}
        logger.error("events were missed, because the server no longer has them", extra=fields)
        if isinstance(error, errors.Compacted) and error.oldest_revision:
            self._ledger = self._new_ledger(dict.fromkeys(self._ledger.positions(), error.oldest_revision - 1))
            return None
        self._ledger, self._history_id = self._new_ledger({}), ""
        return LOOK_BACK_SECONDS

    async def _begin(self, group: asyncio.TaskGroup, book: ledger.Ledger, effects: Sequence[model.Effect]) -> None:
        for effect in effects:
            await self._room.acquire()
            before, mine = self._lanes.get(effect.lane), asyncio.Event()
            self._lanes[effect.lane] = mine
            group.create_task(self._do(book, effect, before, mine), name=effect.key)

    async def _do(
        self, book: ledger.Ledger, effect: model.Effect, before: asyncio.Event | None, mine: asyncio.Event
    ) -> None:
        """Do an effect after the one before it in its lane has ended."""
        try:
            if before is not None:
                await before.wait()
            if await self._is_meant(effect):
                await self._perform(effect)
        finally:
            mine.set()
            self._room.release()
            if self._lanes[effect.lane] is mine:
                del self._lanes[effect.lane]
        book.finish(effect)
        self._is_done.set()
        self._wake()

    async def _is_meant(self, effect: model.Effect) -> bool:
        """Evaluate the condition of an effect that has one."""
        if effect.condition is None:
            return True
        sight = matching.Sight(effect.event, self._on_skip)
        return await self._holds(effect.condition, sight, effect.rule.name)

    async def _holds(self, condition: expression.Expression, sight: matching.Sight, rule_name: str) -> bool:
        try:
            return await self._evaluator.holds(condition, sight)
        except expression.ExpressionError as error:
            sight.skip(rule_name, error)
            return False

    def _wake(self) -> None:
        self._is_ahead.set()
        self._is_taken.set()

    async def _commit_again_and_again(self) -> None:
        while True:
            try:
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._is_ahead.wait()
            except TimeoutError:
                await self._positions.check(self._rules.position)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(IDLE_COMMIT_SECONDS):
                    await self._is_done.wait()
            self._is_ahead.clear()
            self._is_done.clear()
            await self._commit()

    async def _commit(self) -> None:
        history_id = self._history_id
        for name, revision in self._ledger.positions().items():
            if history_id and revision:
                await self._positions.commit(name, revision, history_id)

    async def _await_deadlines(self, group: asyncio.TaskGroup) -> None:
        """Have done what is to be done about events that did not come."""
        while True:
            book = self._ledger
            deadline = book.next_deadline()
            pause = None if deadline is None else (deadline + self._grace - self._clock.now()).total_seconds()
            if pause is None or pause > 0:
                self._is_taken.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._is_taken.wait()
                continue
            passed = self._clock.now() - self._grace
            head, _ = await self._head()
            await self._take_up_to(head, book)
            if book is self._ledger:
                await self._begin(group, book, book.overdue(passed))

    async def _take_up_to(self, revision: int, book: ledger.Ledger) -> None:
        """Wait until everything up to a revision has been taken, or the ledger is another one."""
        while book is self._ledger and book.seen < revision:
            self._is_taken.clear()
            await self._is_taken.wait()

    async def _head(self) -> tuple[int, str]:
        """Return the last revision of the log, and the log's history."""
        return await retry.until_answered(self._ask_for_head, what="look at the end of the log")

    async def _ask_for_head(self) -> tuple[int, str]:
        found: list[int] = []
        probe = self._api.watch(
            now=True,
            reconnect=False,
            connect_timeout_seconds=HEAD_SECONDS,
            on_bookmark=lambda events: found.append(events.revision),
        )
        async with probe:
            # The first answer said where the log ends, and asking for an event brings that out, before it waits for
            # one. An empty log has no end, and nothing comes out.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0):
                    await anext(probe)
        return (found[0] if found else 0), probe.history_id
