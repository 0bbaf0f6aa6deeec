"""The keeper of a lease, with a server in memory."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable

import pytest
from unit.provisioner.fake_lease import FakeLeases

from support.waiting import eventually
from tinkwell.client import errors
from tinkwell.core.workflow.hold import MachineHold
from tinkwell.provisioner.lease import keeper
from tinkwell.provisioner.queue import retry

SHORT_SECONDS = 0.15


class Line:
    """The way to the server, which may be cut."""

    def __init__(self) -> None:
        self.is_cut = False
        self.calls = 0
        self.error: errors.Error = errors.Unavailable()

    async def answer(self) -> None:
        await asyncio.sleep(0)
        self.calls += 1
        if self.is_cut:
            raise self.error


class Listener:
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.inherited: list[str] = []
        self.lost: list[str] = []
        self.losses = 0

    def inherit(self, workflow_ids: Iterable[str]) -> None:
        self.inherited.extend(workflow_ids)

    def hear_of_lost(self, workflow_ids: Iterable[str]) -> None:
        self.lost.extend(workflow_ids)

    def lose(self) -> None:
        self.losses += 1


class Play:
    """A keeper that runs, and all around it."""

    def __init__(self) -> None:
        self.line = Line()
        self.leases = FakeLeases(self.line.answer)
        self.leases.seconds = SHORT_SECONDS
        self.listener = Listener()
        self.keeper = self.another()

    def another(self) -> keeper.Keeper:
        return keeper.Keeper(self.leases, owner="me", engine="engine")

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.ensure_future(self.keeper.run(self.listener))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    monkeypatch.setattr(retry, "LONGEST_SECONDS", 0.01)
    return Play()


async def test_a_lease_is_asked_for_until_it_is_granted_and_then_renewed_again_and_again(play: Play) -> None:
    play.line.is_cut = True
    async with play.running():
        waiting = asyncio.ensure_future(play.keeper.token())
        await eventually(lambda: play.line.calls > 2)
        assert not waiting.done()
        play.line.is_cut = False
        token = await waiting
        await eventually(lambda: play.leases.renewals > 2)
        assert await play.keeper.token() == token
        assert play.keeper.is_own(token)
        assert not play.keeper.is_own(0)
        assert 0 < play.keeper.grace_seconds < SHORT_SECONDS


async def test_that_a_lease_is_over_is_told_once_and_it_lives_on_when_the_server_is_back(play: Play) -> None:
    async with play.running():
        token = await play.keeper.token()
        play.line.is_cut = True
        await eventually(lambda: play.listener.losses == 1)
        before = play.line.calls
        await eventually(lambda: play.line.calls > before + 3)
        assert play.listener.losses == 1
        play.line.is_cut = False
        await eventually(lambda: play.leases.renewals > 2)
        assert await play.keeper.token() == token
        # The next time it is told again.
        play.line.is_cut = True
        await eventually(lambda: play.listener.losses == 2)


async def test_who_has_lost_its_lease_takes_another_one_with_what_was_held(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async with play.running():
        first = await play.keeper.token()
        held = play.leases.ledger.reporter(first).lease_id
        play.leases.ledger.holds["w", "m-1"] = MachineHold(id="m-1", lease_id=held, action_id="a")
        await play.leases.acquire("me", "engine")
        await eventually(lambda: play.listener.inherited == ["w"])
        assert await play.keeper.token() > first
    assert "the lease is lost" in caplog.text


async def test_workflows_whose_owner_is_dead_are_passed_on(play: Play) -> None:
    other = await play.leases.acquire("other", "engine")
    held = play.leases.ledger.reporter(other.token).lease_id
    play.leases.ledger.holds["w", "m-1"] = MachineHold(id="m-1", lease_id=held, action_id="a")
    async with play.running():
        await eventually(lambda: play.leases.renewals > 0)
        assert play.listener.lost == []
        play.leases.expire("other")
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
        renewals = play.leases.renewals
        assert await play.keeper.under(call) == token
        assert play.leases.renewals > renewals
        # Meanwhile somebody else has come under its name.
        tokens.clear()
        await play.leases.acquire("me", "engine")
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
    assert play.line.calls == 0
    async with play.running():
        token = await play.keeper.token()
    play.line.is_cut = True
    await play.keeper.end()
    assert "the lease cannot be ended" in caplog.text
    play.line.is_cut = False
    await play.keeper.end()
    with pytest.raises(errors.LeaseLost):
        await play.leases.renew(token)


async def test_a_server_that_does_not_know_us_ends_the_keeping(play: Play) -> None:
    play.line.is_cut, play.line.error = True, errors.Unimplemented()
    with pytest.raises(ExceptionGroup) as caught:
        await play.keeper.run(play.listener)
    assert caught.group_contains(errors.Unimplemented)


async def test_a_server_that_is_silent_is_asked_again(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "CALL_SECONDS", 0.05)
    silent = [True]

    async def answer() -> None:
        if silent:
            silent.clear()
            await asyncio.Event().wait()

    monkeypatch.setattr(play.line, "answer", answer)
    play.leases = FakeLeases(answer)
    play.keeper = play.another()
    async with play.running():
        assert await play.keeper.token()
