"""Applies, changes, cancels and removes releases, whether servers answer at once or only after a while."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import tinkwell.client
from support.release_chaos.journal import Journal
from support.release_chaos.scenario import Change, Errand
from support.release_history.record import Plan
from support.waiting import eventually
from tinkwell.client import Operation, errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.cause import Reason
from tinkwell.core.release.kinds import OnFailure, OperationKind
from tinkwell.core.release.transition.ending import follow_up_id

T = TypeVar("T")

_CALL_SECONDS = 10
_PAUSE_SECONDS = 0.2
# Longer than any run, so that no operation ends for want of time.
_TIMEOUT_SECONDS = 3_600
# What ran elsewhere when it was lost has ended long before.
_ALIVE_SECONDS = 120
# The call is made again; each of them may be.
_AGAIN = (errors.Unavailable, errors.DeadlineExceeded, errors.ResourceExhausted)
_SUCCEEDS = frozenset({State.SUCCEEDED})


class Author:
    """Brings all that a run is about under way, and sees each to its end.

    `plans` are the operations that it has begun, and `left` is how many changes have not ended. `wanted` has what the
    resources of a release are to hold, where its last operation has succeeded. What a server should not have answered
    is a complaint.
    """

    def __init__(self, address: str, journal: Journal, errands: Sequence[Errand], *, namespace: str = "") -> None:
        self.left = sum(len(errand.changes) for errand in errands)
        self.plans: list[Plan] = []
        self.accepting: set[str] = set()
        self.wanted: dict[str, dict[str, str]] = {}
        self.complaints: list[str] = []
        self.resumed = 0
        self._journal = journal
        self._errands = errands
        self._namespace = namespace
        self._client = tinkwell.client.connect(address, timeout_seconds=_CALL_SECONDS, actor="author")

    async def run(self) -> None:
        """Do to each release what is to be done, one thing after the other; returns when all has ended."""
        async with asyncio.TaskGroup() as tasks:
            for errand in self._errands:
                tasks.create_task(self._do(errand))

    async def close(self) -> None:
        """Let go of the connection."""
        await self._client.close()

    async def _do(self, errand: Errand) -> None:
        await asyncio.sleep(errand.begin_after)
        for change in errand.changes:
            await self.make(errand.release, change)
            self.left -= 1

    async def make(self, release: str, change: Change) -> None:
        """Make a change, and see it to its end."""
        self.wanted.pop(release, None)
        self.plans.append(Plan(change.operation_id, release, change.ends, change.culprit, change.charts))
        await self._begin(release, change)
        if change.cancel_after is not None:
            await asyncio.sleep(change.cancel_after)
            await self.cancel(change)
        ended = await self._end(change.operation_id)
        wants = change.wants
        if change.put_back is not None and ended.state is not State.SUCCEEDED:
            ended, wants = await self._put_back(release, change, change.put_back), change.put_back.wants
        if _is_lost(ended):
            ended = await self._resume(release, ended, change)
        if ended.state is State.FAILED and change.on_failure is OnFailure.CONTINUE:
            # Beside what it has failed by, something else may have been lost.
            await self._see_that_nothing_runs(release)
        if ended.state is State.SUCCEEDED:
            self.wanted[release] = dict(wants)

    async def _begin(self, release: str, change: Change) -> None:
        releases = self._client.releases
        more: Any = {"id": change.operation_id, "namespace": self._namespace, "timeout_seconds": _TIMEOUT_SECONDS}
        if change.installs:
            more |= {"atomic": change.put_back is not None, "on_failure": change.on_failure}
        if change.resources is not None:
            manifest = {"resources": dict(change.resources)}
            await self._call(lambda: releases.apply(release, manifest=manifest, **more), f"apply {release}")
        elif change.chart:
            assert change.charts is not None
            more["wait"] = change.charts.wait
            await self._call(
                lambda: releases.upgrade(release, change.chart, install=True, **more), f"upgrade {release}"
            )
        elif change.looks is not None:
            look = releases.test if change.looks is OperationKind.TEST else releases.drift
            await self._call(lambda: look(release, **more), f"look at {release} by {change.looks}")
        elif change.revision:
            await self._call(lambda: releases.rollback(release, change.revision, **more), f"roll {release} back")
        else:
            await self._call(lambda: releases.uninstall(release, **more), f"uninstall {release}")

    async def cancel(self, change: Change) -> None:
        """Ask for the end of the operation of a change."""
        await self._call(
            lambda: self._client.releases.cancel(change.operation_id, now=change.cancels_now),
            f"cancel {change.operation_id}",
        )

    async def _put_back(self, release: str, change: Change, former: Change) -> Operation:
        """See to the operation that makes up for one, by what was there before."""
        operation_id = follow_up_id(change.operation_id)
        self.plans.append(Plan(operation_id, release, _SUCCEEDS, charts=former.charts))
        return await self._end(operation_id)

    async def _resume(self, release: str, ended: Operation, change: Change) -> Operation:
        """Go on where an action was lost, once nothing of the release runs any more, until nothing was."""
        is_first = ended.id == change.operation_id
        ends, culprit, charts = change.ends, change.culprit, change.charts
        if not is_first:
            ends, culprit, charts = _SUCCEEDS, "", change.put_back.charts if change.put_back else None
        while _is_lost(ended):
            await self._see_that_nothing_runs(release)
            operation_id = str(uuid.uuid4())
            self.plans.append(Plan(operation_id, release, ends | _SUCCEEDS, culprit, charts))
            self.accepting.add(operation_id)
            self.resumed += 1
            await self._call(
                lambda: self._client.releases.resume(
                    release,
                    id=operation_id,  # noqa: B023  (ends in this turn)
                    namespace=self._namespace,
                    accept_lost=True,
                    timeout_seconds=_TIMEOUT_SECONDS,
                ),
                f"resume {release}",
            )
            ended = await self._end(operation_id)
        return ended

    async def _see_that_nothing_runs(self, release: str) -> None:
        """Do what the message of such an end asks for."""
        try:
            await eventually(
                lambda: not self._journal.alive(release), deadline_seconds=_ALIVE_SECONDS, interval_seconds=0.1
            )
        except TimeoutError:
            self.complaints.append(f"something of {release} runs still, {_ALIVE_SECONDS} s after it was lost")

    async def look(self, operation_id: str) -> Operation:
        """Return an operation as it is."""
        found = await self._call(lambda: self._client.releases.operation(operation_id), f"look at {operation_id}")
        return found or Operation(operation_id)

    async def _end(self, operation_id: str) -> Operation:
        """Wait for the end of an operation."""
        ended = await self._call(lambda: self._client.releases.wait(operation_id), f"wait for {operation_id}")
        return ended or Operation(operation_id)

    async def _call(self, call: Callable[[], Awaitable[T]], what: str) -> T | None:
        """Call until it is answered; None where that is a refusal."""
        while True:
            try:
                return await call()
            except _AGAIN:
                await asyncio.sleep(_PAUSE_SECONDS)
            except errors.Error as error:
                self.complaints.append(f"to {what} was answered by {error.code} {error.reason}: {error.message}")
                return None


def _is_lost(ended: Operation) -> bool:
    return ended.state is State.FAILED and (ended.cause or {}).get("reason") == Reason.STEP_LOST
