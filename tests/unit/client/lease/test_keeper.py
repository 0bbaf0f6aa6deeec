"""The keeper of a lease, with a server in memory."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Self

import pytest
from unit.provisioner.stage import Server

from support.waiting import eventually
from tinkwell import client
from tinkwell.client import call, errors, retry
from tinkwell.client.lease import keeper
from tinkwell.client.lease.model import Lease, Renewed
from tinkwell.client.testing.gate import ReceivedCall
from tinkwell.core.value.run_key import RunKind

SHORT_SECONDS = 0.15


class Listener:
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.inherited: list[list[str]] = []
        self.lost: list[str] = []
        self.losses = 0

    def inherit(self, ids: Iterable[str]) -> None:
        self.inherited.append(list(ids))

    def hear_of_lost(self, ids: Iterable[str]) -> None:
        self.lost.extend(ids)

    def lose(self) -> None:
        self.losses += 1


class Api:
    """A server that grants a lease, renews it once, and is away from then on."""

    def __init__(self) -> None:
        self.renewals = 0

    async def acquire(self, owner: str, engine: str) -> Lease:
        return Lease(7, SHORT_SECONDS, ("w",), ("o", "p"))

    async def renew(self, lease_token: int) -> Renewed:
        self.renewals += 1
        if self.renewals > 1:
            raise errors.Unavailable("the server is away")
        return Renewed(SHORT_SECONDS, (), ("q",))

    async def release(self, lease_token: int, *, workflow_id: str = "", worker_id: str = "") -> None:
        raise AssertionError("nothing is released here")


class Play:
    """A keeper that runs, and all around it; an async context manager."""

    def __init__(self) -> None:
        self.server = Server()
        self.server.leases.seconds = SHORT_SECONDS
        self.listener, self.other = Listener(), Listener()

    async def __aenter__(self) -> Self:
        await self.server.start()
        self.client = client.connect(self.server.address)
        self.keeper = keeper.Keeper(self.client.work, owner="me", engine="engine")
        for kind, listener in ((RunKind.WORKFLOW, self.listener), (RunKind.RELEASE, self.other)):
            self.keeper.add(kind, listener)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()
        await self.server.stop()

    async def acquire(self, owner: str) -> Lease:
        """Begin a lease, as a provisioner does that is not on this stage."""
        return await self.client.work.acquire(owner, "engine")

    def hold(self, token: int) -> None:
        """Let a machine of a workflow be held, with something that runs there."""
        ledger = self.server.leases.ledger
        ledger.take("w", "m-1", lease_id=ledger.reporter(token).lease_id, action_id="a")

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.ensure_future(self.keeper.run())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


@pytest.fixture
async def play(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Play]:
    monkeypatch.setattr(retry, "LONGEST_SECONDS", 0.01)
    monkeypatch.setattr(call, "TRIES", 1)
    async with Play() as prepared:
        yield prepared


async def test_a_lease_is_asked_for_until_it_is_granted_and_then_renewed_again_and_again(play: Play) -> None:
    play.server.is_away = True
    async with play.running():
        waiting = asyncio.ensure_future(play.keeper.token())
        await eventually(lambda: len(play.server.calls) > 2)
        assert not waiting.done()
        play.server.is_away = False
        token = await waiting
        await eventually(lambda: play.server.leases.renewals > 2)
        assert await play.keeper.token() == token
        assert play.keeper.is_own(token)
        assert not play.keeper.is_own(0)
        assert 0 < play.keeper.grace_seconds < SHORT_SECONDS


async def test_that_a_lease_is_over_is_told_once_and_it_lives_on_when_the_server_is_back(play: Play) -> None:
    async with play.running():
        token = await play.keeper.token()
        play.server.is_away = True
        await eventually(lambda: play.listener.losses == 1)
        before = len(play.server.calls)
        await eventually(lambda: len(play.server.calls) > before + 3)
        assert play.listener.losses == 1
        play.server.is_away = False
        await eventually(lambda: play.server.leases.renewals > 2)
        assert await play.keeper.token() == token
        # The next time it is told again.
        play.server.is_away = True
        await eventually(lambda: play.listener.losses == 2)


async def test_who_has_lost_its_lease_takes_another_one_with_what_was_held(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async with play.running():
        first = await play.keeper.token()
        play.hold(first)
        await play.acquire("me")
        await eventually(lambda: play.listener.inherited == [[], ["w"]])
        assert await play.keeper.token() > first
    assert "the lease is lost" in caplog.text


async def test_workflows_whose_owner_is_dead_are_passed_on(play: Play) -> None:
    play.hold((await play.acquire("other")).token)
    async with play.running():
        await eventually(lambda: play.server.leases.renewals > 0)
        assert play.listener.lost == []
        play.server.leases.expire("other")
        await eventually(lambda: "w" in play.listener.lost)


async def test_a_call_that_is_refused_is_made_again_under_a_lease_that_is_good(play: Play) -> None:
    tokens: list[int] = []

    async def call(token: int) -> int:
        tokens.append(token)
        if len(tokens) == 1:
            raise errors.LeaseLost
        return token

    async with play.running():
        token = await play.keeper.token()
        renewals = play.server.leases.renewals
        assert await play.keeper.under(call) == token
        assert play.server.leases.renewals > renewals
        # Meanwhile somebody else has come under its name.
        tokens.clear()
        await play.acquire("me")
        assert await play.keeper.under(call) > token


async def test_a_refusal_that_has_nothing_to_do_with_the_lease_is_told(play: Play) -> None:
    calls: list[int] = []

    async def call(token: int) -> int:
        calls.append(token)
        raise errors.LeaseLost

    async with play.running():
        with pytest.raises(errors.LeaseLost):
            await play.keeper.under(call)
    assert len(calls) == 2


async def test_a_lease_that_is_ended_is_over_at_once_and_failing_at_it_does_no_harm(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    await play.keeper.end()
    assert len(play.server.calls) == 0
    async with play.running():
        token = await play.keeper.token()
    play.server.is_away = True
    await play.keeper.end()
    assert "the lease cannot be ended" in caplog.text
    play.server.is_away = False
    await play.keeper.end()
    with pytest.raises(errors.LeaseLost):
        await play.client.work.renew(token)


async def test_a_server_that_does_not_know_us_ends_the_keeping(play: Play) -> None:
    play.server.gate.token = "another"
    with pytest.raises(ExceptionGroup) as caught:
        await play.keeper.run()
    assert caught.group_contains(errors.Unauthenticated)


async def test_a_server_that_is_silent_is_asked_again(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "CALL_SECONDS", 0.05)
    silent = [True]

    async def keep_silent(_: ReceivedCall) -> None:
        if silent:
            silent.clear()
            await asyncio.Event().wait()

    play.server.on_call = keep_silent
    async with play.running():
        assert await play.keeper.token()


async def test_each_listener_hears_of_its_kind_and_all_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "LONGEST_SECONDS", 0.01)
    of_workflows, of_releases = Listener(), Listener()
    lease = keeper.Keeper(Api(), owner="me", engine="engine")
    lease.add(RunKind.WORKFLOW, of_workflows)
    lease.add(RunKind.RELEASE, of_releases)
    task = asyncio.ensure_future(lease.run())
    await eventually(lambda: of_workflows.losses == of_releases.losses == 1)
    task.cancel()
    await asyncio.wait({task})
    assert (of_workflows.inherited, of_workflows.lost) == ([["w"]], [])
    assert (of_releases.inherited, of_releases.lost) == ([["o", "p"]], ["q"])


async def test_who_asks_whether_the_lease_is_good_goes_by_its_own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "LONGEST_SECONDS", 0.01)
    api = Api()
    lease = keeper.Keeper(api, owner="me", engine="engine")
    seen = [lease.is_good]
    is_unbroken = lease.unbroken()
    assert not is_unbroken()
    task = asyncio.ensure_future(lease.run())
    await lease.until_good()
    seen.append(lease.is_good)
    assert not is_unbroken(), "it began when there was no lease"
    is_unbroken = lease.unbroken()
    assert await asyncio.to_thread(is_unbroken)
    await eventually(lambda: not lease.is_good)
    assert not is_unbroken()
    waiting = asyncio.ensure_future(lease.until_good())
    await asyncio.sleep(0)
    assert not waiting.done()
    api.renewals = -1000
    await waiting
    seen.append(lease.is_good)
    assert seen == [False, True, True]
    assert not is_unbroken(), "it lives on, but was over"
    task.cancel()
    await asyncio.wait({task})


async def test_a_lease_lives_until_its_end_by_this_sides_clock() -> None:
    now = [100.0]
    lease = keeper.Keeper(Api(), owner="me", engine="engine", clock=lambda: now[0])
    task = asyncio.ensure_future(lease.run())
    token = await lease.token()
    assert lease.lives(token)
    assert not lease.lives(token + 1)
    now[0] += SHORT_SECONDS
    assert not lease.lives(token)
    task.cancel()
    await asyncio.wait({task})


async def test_who_doubts_the_lease_waits_until_the_server_has_spoken(play: Play) -> None:
    async with play.running():
        token = await play.keeper.token()
        renewals = play.server.leases.renewals
        await play.keeper.make_sure(token)
        assert play.server.leases.renewals > renewals
        # Another one is sure already.
        await play.keeper.make_sure(token - 1)
        await play.acquire("me")
        await play.keeper.make_sure(token)
        assert await play.keeper.token() > token
