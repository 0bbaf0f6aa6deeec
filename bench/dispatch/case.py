"""Creates one workflow after the other for one agent, and takes the time of what follows."""

import asyncio
import contextlib
import sys
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import tinkwell.client
from bench import process, statistic, usage
from bench.context import Context
from bench.result import Outcome, Table, Verdict, number, span
from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType

_COMMAND = str(Path(sys.executable).with_name("tinkwell"))
_LONGEST_SECONDS = 30
_TEMPLATE = """\
version: "0.1"
name: dispatch
tasks:
  - name: one
    worker: "{{.device_1}}"
    actions:
      - name: nothing
        image: nothing
"""
_COMPARES = """\
One workflow of one action after the other is created for an agent of the process runtime that has nothing else to do.
The time runs from the call of `CreateWorkflow` to the event `action.started` at a client of the library, which the
server sends once it has accepted the agent's report that the action runs; so it holds the creation, its event's way to
the agent, what the agent does before its report, that report, and its event. Beside it, the call of `CreateWorkflow`
alone, in the same run.
"""


class Starts:
    """The moments at which workflows' actions started and the workflows ended, by the client's clock."""

    def __init__(self) -> None:
        self._started: dict[str, asyncio.Future[float]] = {}
        self._ended: dict[str, asyncio.Future[float]] = {}

    def call_back(self, event: Event) -> None:
        """Take the time of an event."""
        if event.event_type is EventType.ACTION_STARTED:
            self.of(self._started, event.parent_id).set_result(time.perf_counter())
        elif event.event_type is EventType.WORKFLOW_SUCCEEDED:
            self.of(self._ended, event.resource_id).set_result(time.perf_counter())

    @staticmethod
    def of(moments: "dict[str, asyncio.Future[float]]", workflow_id: str) -> "asyncio.Future[float]":
        """Return the moment of a workflow, which may be yet to come."""
        return moments.setdefault(workflow_id, asyncio.get_running_loop().create_future())

    async def wait(self, workflow_id: str) -> float:
        """Wait until the workflow has ended, and return when its action started. Raises `TimeoutError`."""
        async with asyncio.timeout(_LONGEST_SECONDS):
            await self.of(self._ended, workflow_id)
            return await self.of(self._started, workflow_id)


async def run(context: Context) -> Outcome:
    """Measure."""
    rounds = context.scale.choose(quick=20, full=200)
    async with (
        context.cluster.database() as url,
        process.server(url, directory=context.directory) as server,
        tinkwell.client.connect(server.address) as client,
    ):
        machine = str(uuid.uuid4())
        await client.hardware.push({"id": machine})
        template = (await client.templates.create(_TEMPLATE)).id
        async with _agent(context, server.address, machine) as agent:
            meter = usage.Meter({"PostgreSQL": context.cluster.pid, "server": server.pid, "agent": agent.pid})
            created, started = await _dispatch(client, template, machine, rounds)
            cores = meter.read()
    context.say(f"dispatch: p50 {number(started.median * 1000)} ms, CreateWorkflow {number(created.median * 1000)} ms")
    return _outcome(rounds, created, started, cores)


async def _dispatch(
    client: tinkwell.client.Client, template: str, machine: str, rounds: int
) -> tuple[statistic.Spread, statistic.Spread]:
    created, started = [], []
    async with asyncio.TaskGroup() as tasks:
        starts = Starts()
        watch = client.workflows.watch(now=True)
        await watch.wait_live()
        watching = tasks.create_task(watch.run(starts.call_back))
        for _ in range(rounds):
            began = time.perf_counter()
            workflow = await client.workflows.create(template, {"device_1": machine})
            created.append(time.perf_counter() - began)
            started.append(await starts.wait(workflow.id) - began)
        watching.cancel()
    return statistic.spread(created), statistic.spread(started)


@contextlib.asynccontextmanager
async def _agent(context: Context, address: str, machine: str) -> AsyncIterator[process.Program]:
    """Run an agent of the machine whose one image does nothing, until it watches."""
    state_dir, images = context.directory / "agent", context.directory / "images"
    entry_point = images / "nothing" / "run"
    entry_point.parent.mkdir(parents=True, exist_ok=True)
    entry_point.write_text("#!/bin/sh\n")
    entry_point.chmod(0o755)
    options = ("--server", address, "--id", machine, "--runtime", "process", "--process-images", str(images))
    command = (_COMMAND, "agent", *options, "--state-dir", str(state_dir))
    async with process.program(*command, log=context.directory / "agent.log") as agent:
        await agent.line("workflows are watched")
        yield agent


def _outcome(rounds: int, created: statistic.Spread, started: statistic.Spread, cores: dict[str, float]) -> Outcome:
    rows = (
        ("CreateWorkflow alone", span(created, scale=1000)),
        ("to the start of the action", span(started, scale=1000)),
    )
    milliseconds = statistic.Spread(started.median * 1000, started.low * 1000, started.high * 1000)
    return Outcome(
        title="Dispatch",
        compares=_COMPARES,
        tables=(Table(f"{rounds} workflows", ("", "ms"), rows),),
        verdicts=(Verdict.of("p50 from CreateWorkflow to the action's start", milliseconds, "≤", 15, unit="ms"),),
        notes=("Cores used: " + ", ".join(f"{part} {number(share)}" for part, share in cores.items()) + ".",),
    )
