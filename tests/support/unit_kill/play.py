"""Plays cases one after the other, and judges each: effects are there exactly once, and the stream is legal."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from support import process
from support.chaos import stage
from support.chaos.cluster import Cluster
from support.chaos.server import Server
from support.unit_kill import look
from support.unit_kill.case import EVENTS, Case, Fate, Point
from support.waiting import eventually
from tinkwell import client
from tinkwell.client.unit.event import UnitEvent
from tinkwell.core.charm import package
from tinkwell.core.unit.kinds import EventState

LEASE_SECONDS = 3.0
# A server that is started anew on a busy machine takes its time.
_SECONDS = 180.0
_REQUEST_SECONDS = 0.03
_DOWN_SECONDS = 0.2
_TESTS = Path(__file__).parents[2]
_COUNT = """#!/bin/sh
set -eu
cd {folder}
echo "$JUJU_HOOK_NAME" >> "runs-${{JUJU_UNIT_NAME%/*}}"
state-set "$JUJU_HOOK_NAME=$(($(state-get "$JUJU_HOOK_NAME" || echo 0) + 1))"
if test "$(cat armed 2>/dev/null)" = "{handler}
$JUJU_HOOK_NAME"; then
    rm armed
    echo $$ > script
    touch reached
    while ! test -e go; do sleep 0.01; done
fi
"""
_TELL = """#!/bin/sh
state-get --format json > {folder}/state
"""


class Play:
    """A server, its database and an agent, for all cases."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._folder = directory / "stage"
        self._folder.mkdir()
        self._cluster = Cluster(directory, bin_dir=Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None)
        # How long each case took from the kill until it was settled, and what was seen meanwhile.
        self.settled: list[tuple[float, Case, list[str]]] = []
        self._victims = 0
        self._stack = contextlib.AsyncExitStack()
        self._agent: process.Process | None = None

    async def run(self, cases: Sequence[Case]) -> Sequence[str]:
        """Play them; returns what went wrong. Must be called in the main thread, as PostgreSQL is started."""
        await self._cluster.start()
        complaints = list[str]()
        try:
            settings = {"TINKWELL_LEASE_SECONDS": str(LEASE_SECONDS)}
            self._server = Server("server", self.directory, self._cluster.url, settings=settings)
            async with stage.running([self._server]), self._stack:
                await self._server.ready.wait()
                self._client = await self._stack.enter_async_context(client.connect(self._server.address))
                await self._begin()
                for case in cases:
                    found = [f"{case}: {text}" for text in await self._play(case)]
                    for complaint in found:
                        print(complaint, flush=True)
                    complaints += found
        finally:
            await self._cluster.stop()
        return [*complaints, *self._server.complaints]

    async def _begin(self) -> None:
        """Have an agent."""
        self._victims += 1
        self._agent = await self._stack.enter_async_context(self._victim())

    @contextlib.asynccontextmanager
    async def _victim(self) -> AsyncIterator[process.Process]:
        how = ("--units", "--runtime", "process", "--resync-seconds", "5")
        where = ("--server", self._server.address, "--state-dir", str(self.directory / "state"))
        async with process.running(
            "-m", "support.unit_kill.victim", str(self._folder), *how, *where,
            log=self.directory / f"agent-{self._victims:03}.log", program=sys.executable,
            environment={"PYTHONPATH": str(_TESTS)},
        ) as running:  # fmt: skip
            try:
                yield running
            finally:
                await running.stop(signal.SIGKILL)

    async def _play(self, case: Case) -> list[str]:
        for name in ("armed", "reached", "go", "script", "state"):
            (self._folder / name).unlink(missing_ok=True)
        (self._folder / "armed").write_text(f"{case.point}\n{case.event}")
        seen = look.Look(self._client, f"{case.application}/0")
        try:
            async with asyncio.timeout(2 * _SECONDS), seen.looking():
                await self._client.applications.deploy(case.application, self._charm(case), anywhere=True)
                seen.step = "comes to the point"
                await eventually((self._folder / "reached").exists, deadline_seconds=_SECONDS)
                seen.step = "kills"
                await self._befall(case)
                seen.step, began = "settles", time.monotonic()
                await self._client.applications.settled(case.application, timeout_seconds=_SECONDS)
                self.settled.append((time.monotonic() - began, case, list(seen.notes)))
                seen.step = "is judged"
                return await self._judge(case)
        except (TimeoutError, AssertionError, client.errors.Error) as error:
            logs = [
                *look.tail(self.directory / f"agent-{self._victims:03}.log"),
                *look.tail(max(self.directory.glob("server-*.log"))),
            ]
            failure = f"it did not settle, while it {seen.step}: {type(error).__name__} {error}"
            return ["\n    ".join([failure, *await seen.tell(), *logs])]

    async def _befall(self, case: Case) -> None:
        """Let go on who waits, and kill who is to be."""
        assert self._agent is not None
        match case.fate:
            case Fate.AGENT:
                await self._agent.stop(signal.SIGKILL)
                (self._folder / "go").touch()
                await self._begin()
            case Fate.CHARM:
                os.kill(int((self._folder / "script").read_text()), signal.SIGKILL)
                (self._folder / "go").touch()
            case Fate.SERVER:
                (self._folder / "go").touch()
                await asyncio.sleep(case.lateness * _REQUEST_SECONDS)
                await self._server.kill(down_seconds=_DOWN_SECONDS, is_whole=True)
            case Fate.POSTGRES:
                (self._folder / "go").touch()
                await asyncio.sleep(case.lateness * _REQUEST_SECONDS)
                await self._cluster.restart(signal.SIGQUIT, down_seconds=_DOWN_SECONDS)

    async def _judge(self, case: Case) -> list[str]:
        unit = f"{case.application}/0"
        events = [event async for event in self._client.applications.events(unit)][::-1]
        wrong = _stream(events)
        await self._client.applications.collect_metrics(unit)
        await eventually((self._folder / "state").exists, deadline_seconds=_SECONDS)
        await self._client.applications.settled(case.application, timeout_seconds=_SECONDS)
        if (counts := json.loads((self._folder / "state").read_text())) != dict.fromkeys(EVENTS, "1"):
            wrong.append(f"effects are not there once each: {counts}")
        runs = Counter((self._folder / f"runs-{case.application}").read_text().split())
        repeated = runs - Counter(EVENTS)
        if runs & Counter(EVENTS) != Counter(EVENTS) or repeated - Counter([case.event] * case.may_repeat):
            wrong.append(f"handlers ran too often: {runs}")
        await self._client.applications.remove(case.application)
        return wrong

    def _charm(self, case: Case) -> bytes:
        count = _COUNT.format(folder=self._folder, handler=Point.HANDLER.value)
        hooks = dict.fromkeys(EVENTS, count) | {"collect-metrics": _TELL.format(folder=self._folder)}
        manifest = f"name: {case.application}\nkind: scripts\n"
        files = [package.NewFile(f"hooks/{name}", text.encode(), is_executable=True) for name, text in hooks.items()]
        return package.pack([package.NewFile("charm.yaml", manifest.encode()), *files])


def _stream(events: Sequence[UnitEvent]) -> list[str]:
    """Say what is wrong with the events of a unit, which is set up and nothing more."""
    wrong = list[str]()
    committed = [event.name for event in events if event.state is EventState.COMMITTED]
    if committed != list(EVENTS):
        wrong.append(f"these are committed: {committed}")
    if [event.ordinal for event in events] != list(range(1, len(events) + 1)):
        wrong.append(f"ordinals have gaps: {[event.ordinal for event in events]}")
    if bad := [f"{event.name} {event.message}" for event in events if event.state is EventState.ERROR]:
        wrong.append(f"these have failed: {bad}")
    return wrong
