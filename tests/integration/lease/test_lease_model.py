"""Whatever owners do and suffer, in any order and at once: no machine ever has two runs of owners that are alive."""

import asyncio
import dataclasses
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import grpc
import pytest

from support.site import FAILED, RUNNING, SUCCEEDED, Flow, Site, action, devices, task
from tinkwell.api.v1 import work_service_pb2 as wk
from tinkwell.api.v1 import workflow_service_pb2 as pb

T = TypeVar("T")

STEPS = 150
WALKS = 4
OWNERS = 8
ROUNDS = 15
FLOWS = 4
ENGINES = {"a": "here", "b": "here", "c": "there"}
ON_BOTH = (
    task("one", action("x", retries=1, **{"retry-delay": 0}), action("y", **{"on-failure": ["hook"]})),
    task("two", action("z"), worker="{{.device_2}}"),
)
BACKWARDS = (task("two", action("x"), worker="{{.device_2}}"), task("one", action("y"), action("z")))
ALLOWED = {"FAILED_PRECONDITION", "NOT_FOUND"}


@dataclasses.dataclass
class Run:
    """What an owner was allowed to start on a machine, and what may still be there."""

    flow: Flow
    index: int
    token: int


class World:
    """What must be so by what was answered. Token 0 is somebody without a lease, whose runs nobody counts."""

    def __init__(self, site: Site, seed: int) -> None:
        self.site = site
        self.pick = random.Random(seed)
        self.flows: list[Flow] = []
        self.tokens: dict[str, int] = {}
        self.alive: set[int] = set()
        self.runs: dict[str, Run] = {}
        self.told: list[str] = []
        self.counted: Counter[str] = Counter()

    async def step(self) -> None:
        """Do one thing."""
        act = self.pick.choice(self.disturbing())
        if len(self.runs) < 2 and self.pick.random() < 0.6:
            act = self.start
        if not self.tokens:
            act = self.acquire
        await self.forget()
        while len(self.flows) < FLOWS:
            self.flows.append(await self.site.create(*self.pick.choice((ON_BOTH, BACKWARDS))))
        self.told.append(act.__name__)
        await act()

    def disturbing(self) -> list[Callable[[], Awaitable[None]]]:
        others = self.pick.choice((self.acquire, self.expire, self.cancel))
        return [self.end, self.kill, self.resume, self.release, self.renew, others]

    async def forget(self) -> None:
        """Leave workflows that are over to those who have something of them on a machine."""
        rows = await self.site.sql.fetch(
            "SELECT id FROM workflow WHERE deleted_at IS NULL AND state IN ('PENDING', 'RUNNING')"
        )
        unfinished = {str(row["id"]) for row in rows}
        self.flows = [flow for flow in self.flows if flow.id in unfinished]

    async def start(self) -> None:
        for flow in self.pick.sample(self.flows, len(self.flows)):
            if await self.start_of(flow, self.token()):
                return

    async def start_of(self, flow: Flow, token: int) -> bool:
        states = [each.state for each in await flow.current_actions()]
        due = next((i for i, state in enumerate(states) if state != SUCCEEDED), 0)
        index = self.pick.choice([due, due, due, self.pick.randrange(len(states))])
        if states[index] == RUNNING:
            return False
        answer = await self.report(flow, index, RUNNING, token)
        if answer is None or not answer.revision:
            return False
        assert states[index] == pb.STATE_PENDING
        assert token == 0 or token in self.alive
        machine = flow.actions[index].worker_id
        # The first start of a workflow takes all its machines.
        for taken in [machine] if due else {each.worker_id for each in flow.actions}:
            there = self.runs.pop(taken, None)
            assert there is None or there.token not in self.alive, self.told
        self.counted["started"] += 1
        if token:
            self.runs[machine] = Run(flow, index, token)
        else:
            # Nobody looks after that one, so it would block everything until it is cancelled.
            assert await self.report(flow, index, SUCCEEDED, 0) is not None
        return True

    async def resume(self) -> None:
        for machine, run in list(self.runs.items()):
            token = self.token()
            attempt = (await run.flow.current_actions())[run.index].attempt if await self.exists(run.flow) else 1
            answer = await self.report(run.flow, run.index, RUNNING, token, attempt=attempt)
            if answer is not None:
                assert token in self.alive, self.told
                assert answer.revision == 0
                assert run.token == token or run.token not in self.alive, self.told
                self.counted["adopted"] += run.token != token
                self.runs[machine] = Run(run.flow, run.index, token)
                return
            if "is lost" in self.told[-1]:
                assert run.token not in self.alive, self.told
                del self.runs[machine]

    async def end(self) -> None:
        for machine, run in list(self.runs.items()):
            token, state = self.token(run), self.pick.choice((SUCCEEDED, FAILED))
            answer = await self.report(run.flow, run.index, state, token)
            if answer is not None and answer.revision:
                assert run.token == token, self.told
                has_hook = run.flow.actions[run.index].on_failure and answer.state == FAILED
                self.counted["ended"] += 1
                if not has_hook:
                    del self.runs[machine]

    async def cancel(self) -> None:
        flow = self.pick.choice(self.flows)
        if self.pick.random() < 0.7:
            await self.quietly(self.site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=flow.id)))
        else:
            await self.quietly(self.site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=flow.id)))

    async def release(self) -> None:
        for machine, run in list(self.runs.items()):
            token = self.token(run)
            is_over = not await self.exists(run.flow) or (await run.flow.get()).state > RUNNING
            request = wk.ReleaseRequest(lease_token=token, workflow_id=run.flow.id, worker_id=machine)
            await self.site.work.Release(request)
            if is_over and token == run.token:
                self.counted["released"] += 1
                del self.runs[machine]

    async def kill(self) -> None:
        token = self.token(self.pick.choice([*self.runs.values(), None]))
        await self.site.kill(token)
        self.alive.discard(token)
        await self.pick.choice((self.resume, self.expire, self.renew, self.cancel))()

    async def renew(self) -> None:
        token = self.token()
        renewed = await self.quietly(self.site.work.Renew(wk.RenewRequest(lease_token=token)))
        assert (renewed is not None) == (token in self.tokens.values())
        if renewed is not None:
            self.alive.add(token)

    async def acquire(self) -> None:
        owner = self.pick.choice(list(ENGINES))
        former = self.tokens.get(owner, -1)
        self.alive.discard(former)
        self.tokens[owner] = await self.site.acquire(owner, ENGINES[owner])
        self.alive.add(self.tokens[owner])
        for run in self.runs.values():
            if run.token == former:
                run.token = self.tokens[owner]

    async def expire(self) -> None:
        for token in sorted(self.alive):
            renewed = await self.quietly(self.site.work.Renew(wk.RenewRequest(lease_token=token)))
            assert renewed is not None
            lost = set(renewed.lost_workflow_ids)
            assert lost == {r.flow.id for r in self.runs.values() if r.token not in self.alive}, self.told
            self.counted["lost"] += len(lost)
            for workflow_id in lost:
                await self.quietly(self.site.stub.ExpireWorkflow(pb.ExpireWorkflowRequest(id=workflow_id)))
            self.runs = {machine: run for machine, run in self.runs.items() if run.token in self.alive}

    def token(self, run: Run | None = None) -> int:
        """Anybody's, and mostly that of who runs something."""
        if run is not None and self.pick.random() < 0.6:
            return run.token
        return self.pick.choice([*self.tokens.values(), *sorted(self.alive) * 4, 0])

    async def exists(self, flow: Flow) -> bool:
        return await self.quietly(flow.get()) is not None

    async def report(
        self, flow: Flow, index: int, state: pb.State.ValueType, token: int, attempt: int = 0
    ) -> pb.ReportActionStatusResponse | None:
        return await self.quietly(flow.report(index, state, lease_token=token, attempt=attempt))

    async def quietly(self, call: Awaitable[T]) -> T | None:
        """Call, and take a refusal for no answer."""
        try:
            return await call
        except grpc.aio.AioRpcError as error:
            if error.code().name not in ALLOWED:
                raise
            self.told.append(error.details() or "")
            return None


async def walk(world: World) -> None:
    for _ in range(STEPS):
        await world.step()


async def bring_to_an_end(site: Site, tokens: Iterable[int]) -> None:
    """Let every owner die, and a new one end what they have left."""
    for token in tokens:
        await site.kill(token)
    heir = await site.acquire("heir", "elsewhere")
    while lost := (await site.work.Renew(wk.RenewRequest(lease_token=heir))).lost_workflow_ids:
        for workflow_id in lost:
            await site.stub.ExpireWorkflow(pb.ExpireWorkflowRequest(id=workflow_id))
    left = await site.sql.fetchval("""
        SELECT count(*)
          FROM action a JOIN machine_hold h ON h.worker_id = a.worker_id AND h.workflow_id = a.workflow_id
         WHERE a.state = 'RUNNING' AND h.lease_id IS NOT NULL
    """)
    assert left == 0


async def test_a_machine_never_has_two_runs_of_living_owners(site: Site) -> None:
    counted: Counter[str] = Counter()
    for seed in range(WALKS):
        world = World(site, seed)
        await walk(world)
        counted += world.counted
        await bring_to_an_end(site, world.tokens.values())
        for flow in world.flows:
            await world.quietly(site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=flow.id)))
    assert min(counted[what] for what in ("started", "adopted", "ended", "released", "lost")) > 0, counted


MISTAKES = {
    "the machine of an ended workflow is free at once": """
        CREATE OR REPLACE VIEW busy_machine AS
        SELECT h.worker_id, h.workflow_id FROM machine_hold h JOIN workflow w ON w.id = h.workflow_id
         WHERE w.state = 'RUNNING' AND w.deleted_at IS NULL
    """,
    "a start forgets under which lease it is": """
        CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.lease_id := NULL; RETURN NEW; END $$;
        CREATE TRIGGER forget BEFORE UPDATE ON machine_hold FOR EACH ROW EXECUTE FUNCTION forget();
    """,
    "what a start leaves is not written down": """
        CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.action_id := NULL; RETURN NEW; END $$;
        CREATE TRIGGER forget BEFORE UPDATE ON machine_hold FOR EACH ROW EXECUTE FUNCTION forget();
    """,
}


@pytest.mark.parametrize("mistake", MISTAKES)
async def test_the_model_convicts_a_server_that_makes_a_mistake(site: Site, mistake: str) -> None:
    await site.sql.execute(MISTAKES[mistake])
    with pytest.raises(AssertionError):
        await walk(World(site, seed=0))


async def again(flow: Flow) -> Flow:
    """Create another workflow of the same template."""
    request = pb.CreateWorkflowRequest(template=(await flow.get()).template_id, hardware=devices())
    created = await flow.site.stub.CreateWorkflow(request)
    actions = await flow.site.stub.GetWorkflowActions(pb.GetWorkflowActionsRequest(workflow_id=created.id))
    return Flow(flow.site, created.id, list(actions.actions))


async def test_owners_that_do_everything_at_once_never_lock_each_other_out(site: Site) -> None:
    worlds = [World(site, seed) for seed in range(OWNERS)]
    models = [await site.create(*tasks) for tasks in (ON_BOTH, BACKWARDS)]
    started: list[Flow] = []

    async def live(world: World) -> None:
        """Take both machines if they are free, and leave them: released, or to whoever finds them after a death."""
        name = f"owner {world.pick.random()}"
        rounds = 0
        # Who comes first is chance, so all go on until enough of them have started something.
        while rounds < ROUNDS or len(started) <= ROUNDS:
            rounds += 1
            flow, token = await again(world.pick.choice(models)), await site.acquire(name)
            if await world.report(flow, 0, RUNNING, token) is not None:
                started.append(flow)
            await world.quietly(site.stub.CancelWorkflow(pb.CancelWorkflowRequest(id=flow.id)))
            left = world.pick.choice(("", flow.id))
            await site.work.Release(wk.ReleaseRequest(lease_token=token, workflow_id=left))
            for other in world.pick.sample(started, min(2, len(started))):
                await site.stub.ExpireWorkflow(pb.ExpireWorkflowRequest(id=other.id))

    async with asyncio.timeout(60):
        await asyncio.gather(*map(live, worlds))
    assert await site.sql.fetchval(_DEADLOCKS) == 0


_DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
