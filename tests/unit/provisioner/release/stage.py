"""A stage for the driver of releases: a server and a runtime in memory, provisioners that live and die, and images that
do what a test says."""

import asyncio
import contextlib
import json
import textwrap
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unit.provisioner.fake_runtime import FakeRun, FakeRuntime, FakeWorld
from unit.provisioner.release.direct import DirectServer
from unit.provisioner.stage import Claims

from support.same_process import same_process
from support.waiting import eventually
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.release.model import Node, Operation, Release, Resource
from tinkwell.client.workflow.model import LogStream
from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.release import core_event, driver, place
from tinkwell.provisioner.release.call import plug
from tinkwell.provisioner.release.call.image_policy import ImagePolicy
from tinkwell.provisioner.release.host import Host
from tinkwell.provisioner.release.lifecycle import listener
from tinkwell.provisioner.runtime import port
from tinkwell.sandbox.room import Room


@dataclass
class Thing:
    """What a resource stands for. It is VALID once an action has made its state what the config wants."""

    state: dict[str, Any] | None = None
    actions: Sequence[str] = ("create",)
    # Calls by their name that do something else: exit with a code, or answer with something.
    exits: dict[str, int] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    # Calls by their name that print something to stderr.
    prints: dict[str, str] = field(default_factory=dict)
    # Calls by their name that wait until the test lets them.
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    is_stubborn: bool = False
    init: dict[str, Any] = field(default_factory=dict)


class Images:
    """All images; the resource's name says what there is to do, and what was done stands in the journal."""

    def __init__(self) -> None:
        self.things: dict[str, Thing] = {}
        self.journal: list[tuple[str, str]] = []
        self.told: list[dict[str, Any]] = []
        self.specs: list[tuple[str, port.RunSpec]] = []
        self.on_call: Callable[[], object] = lambda: None
        self._tasks: set[asyncio.Task[None]] = set()

    def thing(self, name: str, **fields: Any) -> Thing:
        return self.things.setdefault(name, Thing(**fields))

    def calls(self, name: str) -> list[str]:
        return [call for path, call in self.journal if path == name]

    async def close(self) -> None:
        """Let nothing wait any more."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def perform(self, run: FakeRun) -> None:
        task = asyncio.ensure_future(self._perform(run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _perform(self, run: FakeRun) -> None:
        assert run.spec.stdin is not None
        given = json.loads(run.spec.stdin)
        call = run.spec.command[0] if run.spec.command else "init"
        thing = self.thing(given["name"])
        self.on_call()
        self.journal.append((given["name"], call))
        self.told.append({"call": call, **given})
        self.specs.append((call, run.spec))
        await run.write(f"{call} of {given['name']}\n{thing.prints.get(call, '')}", LogStream.STDERR)
        if (gate := thing.gates.get(call)) is not None:
            await gate.wait()
        if run.ending is None:
            code = thing.exits.get(call, 0)
            if not code:
                await run.write(thing.answers.get(call) or _answer(thing, call, given))
            await run.exit(code)


def _answer(thing: Thing, call: str, given: dict[str, Any]) -> str:
    config = given.get("config", {})
    if call == "init":
        extension = {"protocol": 1, "destroy_action": {"args": ["destroy"]}}
        return json.dumps({"state_action": {"args": ["state"]}, "tinkwell": extension} | thing.init)
    if call == "state":
        if thing.state == config:
            return json.dumps({"status": "VALID", "state": config})
        actions = [{"name": name, "args": [name]} for name in thing.actions]
        stale = {} if thing.state is None else {"staleState": thing.state}
        return json.dumps({"status": "STALE", "actions": actions} | stale)
    if call == "destroy":
        thing.state = None
    elif call == thing.actions[-1] and not thing.is_stubborn:
        thing.state = config
    return ""


class Stage:
    """A server, a world of runs, and provisioners that share it."""

    def __init__(self, folder: Path) -> None:
        self.server = DirectServer()
        self.operator = self.server.connect().releases
        self.images = Images()
        self.world = FakeWorld()
        self.runtime = FakeRuntime(self.world, perform=self.images.perform)
        self.claims = Claims()
        self._folder = folder

    @contextlib.asynccontextmanager
    async def provisioner(
        self,
        *,
        slot: int = 0,
        engine: str = "engine",
        namespaces: Any = driver.ALL_NAMESPACES,
        concurrency: int = 8,
        grants: Sequence[str] = (),
        images: ImagePolicy | None = None,
        resync_seconds: float = 1000.0,
        runtime: port.Runtime | None = None,
    ) -> AsyncIterator[driver.Driver]:
        """Run a provisioner in a slot; leaving is its death."""
        server = self.server.connect(f"slot-{slot}")
        lease = self.lease = Keeper(server.work, owner=f"owner/{slot}", engine=engine)
        registry = core_event.of_provisioner()
        listener.load(registry)
        host = Host(
            api=server.releases,
            lease=lease,
            runtime=runtime or self.runtime,
            claims=self.claims.of(slot),
            folder=self._folder / "releases",
            grants=tuple(map(plug.parse_grant, grants)),
            images=images or ImagePolicy(),
            places=place.Places(concurrency),
            keys=place.Keys(),
            room=Room(2),
            lifecycle=registry,
            make_child=same_process,
        )
        worker = driver.Driver(host, namespaces=namespaces, concurrency=concurrency, resync_seconds=resync_seconds)
        lease.add(RunKind.RELEASE, worker)
        self.claims.living.add(slot)
        tasks = [asyncio.ensure_future(work) for work in (worker.run(), lease.run())]
        try:
            yield worker
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self.claims.living.discard(slot)
            for task in tasks:
                if not task.cancelled() and (error := task.exception()) is not None:
                    raise error

    async def apply(self, manifest: str, *, name: str = "shop", **options: Any) -> str:
        """Begin to apply a manifest; returns the operation's id."""
        files = {"shop.yaml": textwrap.dedent(manifest)}
        return (await self.operator.apply(name, files=files, **options)).id

    async def ends(self, operation_id: str, state: State = State.SUCCEEDED) -> Operation:
        """Wait until an operation has ended, as it should."""
        async with asyncio.timeout(20):
            operation = await self.operator.wait(operation_id)
        assert operation.state is state, (operation.cause, self.images.journal)
        return operation

    def state_of(self, operation_id: str) -> State:
        """Return the state of an operation."""
        return self.server.world.find(Operation, operation_id).state

    async def nodes(self, operation_id: str) -> dict[str, Node]:
        return {node.path: node async for node in self.operator.nodes(operation_id)}

    def resources(self, name: str = "shop") -> dict[str, Resource]:
        (release,) = (each for each in self.server.world.all(Release) if each.name == name)
        return dict(self.server.world.releases.resources.get(release.id, {}))

    def owner(self, operation_id: str) -> int:
        """Return the slot of who holds an operation."""
        lease_id = self.server.world.releases.facts_of(operation_id).lease_id
        ledger = self.server.world.ledger
        (owner,) = (owner for owner, session in ledger.sessions.items() if session.lease.id == lease_id)
        return int(owner.partition("/")[2])

    def expire(self, slot: int) -> None:
        """Let the lease of who lived in a slot be over."""
        ledger = self.server.world.ledger
        ledger.expire(ledger.sessions[f"owner/{slot}"].token)

    async def steal(self, operation_id: str, *, engine: str) -> None:
        """Take an operation over from an owner that is taken for dead."""
        thief = self.server.connect("thief")
        self.expire(self.owner(operation_id))
        token = (await thief.work.acquire("thief/99", engine)).token
        await thief.releases.acquire(operation_id, token)

    async def leave(self, key: RunKey) -> FakeRun:
        """Leave a run here that nobody sees to."""
        run = self.world.runs[key] = FakeRun(self.world, port.RunSpec(key=key, image="acme/left:1"))
        return run

    async def rest(self) -> None:
        """Wait until nobody asks the server for anything."""
        seen = [-1]

        def has_rested() -> bool:
            seen.append(len(self.server.calls))
            return seen[-1] == seen[-2]

        await eventually(has_rested, interval_seconds=0.02)

    async def has_called(self, name: str, call: str, times: int = 1) -> None:
        await eventually(lambda: self.images.calls(name).count(call) >= times)

    async def is_clear(self) -> None:
        await eventually(lambda: not self.world.runs)
