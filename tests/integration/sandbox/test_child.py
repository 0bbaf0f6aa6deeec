"""A child process of the sandbox: what it may, what it may not, and what becomes of calls that go wrong."""

import asyncio
import json
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support import waiting
from tinkwell.sandbox import errors
from tinkwell.sandbox.child import Child
from tinkwell.sandbox.limit import Limits

MODULE = "support.sandboxed"
PATHS = [Path(__file__).parents[2]]
MIB = 1024 * 1024


async def ask(child: Child, *request: object) -> Any:
    return json.loads(await child.call(json.dumps(request).encode()))


def is_gone(pid: int) -> bool:
    """Whether there is no process of that number, nor what is left of one that nobody has waited for."""
    return not Path(f"/proc/{pid}").exists()


@pytest.fixture
async def child() -> AsyncIterator[Child]:
    async with Child(MODULE, PATHS) as made:
        yield made


async def works(child: Child) -> bool:
    return bool(await ask(child, "echo", "still here") == "still here")


async def test_a_call_is_answered_by_one_process_after_the_other(child: Child) -> None:
    before = child.pid
    assert before is None
    value = {"a": [1, 2.5, None, True, "ä\u2028"], "b": {}}
    assert await ask(child, "echo", value) == value
    pid = child.pid
    assert pid
    assert await works(child)
    assert child.pid == pid


async def test_the_child_has_no_environment_no_files_and_no_modules_of_its_parent(
    child: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKWELL_TOKEN", "secret")
    facts = await ask(child, "facts")
    assert not any("TINKWELL" in name for name in facts["environment"])
    assert "PATH" not in facts["environment"]
    assert facts["descriptors"] == [0, 1, 2]
    assert facts["session"]
    assert facts["group"]
    assert facts["site"]
    assert facts["isolated"]
    assert not {"asyncio", "logging", "grpc", "site"} & set(facts["modules"])


async def test_the_child_is_bound_before_its_first_call(child: Child) -> None:
    facts = await ask(child, "facts")
    assert facts["limits"] == {"AS": [256 * MIB] * 2, "NOFILE": [3, 3], "FSIZE": [0, 0], "CORE": [0, 0]}


async def test_the_child_opens_no_file(child: Child) -> None:
    assert await ask(child, "open", "/etc/passwd") == "Too many open files"


async def test_the_child_reaches_nothing_on_the_network_where_the_system_allows_that(
    child: Child, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="tinkwell.sandbox")
    with socket.create_server(("127.0.0.1", 0)) as server:
        told = await ask(child, "connect", 2, server.getsockname()[1])
    keeps = [record.message for record in caplog.records if "keeps this process" in record.message]
    assert (told == "connected") is bool(keeps)


async def test_that_the_child_keeps_the_network_is_said_once(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level(logging.INFO, logger="tinkwell.sandbox")
    # Stands in for a system that allows no namespaces.
    (tmp_path / "networked.py").write_text(
        "from support.sandboxed import handle\nfrom tinkwell.sandbox import limit\n"
        "limit.leave_network = lambda: 'Operation not permitted'\n"
    )
    async with Child("networked", [*PATHS, tmp_path]) as child:
        for _ in range(2):
            assert await works(child)
            with pytest.raises(errors.Died):
                await ask(child, "die", signal.SIGKILL)
    assert [record.message for record in caplog.records] == [
        "the child process keeps this process's network: Operation not permitted"
    ]


@pytest.mark.parametrize(
    ("request_", "reason", "piece"),
    [
        (["loop in C"], "needs more than 1 s of processor time", "a loop in C"),
        (["work", 3, 3600], "needs more than 1 s of processor time", "piece 0"),
        (["remember", 300], "needs more than 256 MiB of memory", "much memory"),
        (["answer", 17 * MIB], "gives more than 16 MiB in all", ""),
    ],
)
async def test_a_call_that_needs_too_much_ends_in_one_error_and_the_next_one_works(
    child: Child, request_: list[object], reason: str, piece: str
) -> None:
    assert await works(child)
    pid = child.pid
    assert pid
    with pytest.raises(errors.Exceeded) as raised:
        await ask(child, *request_)
    assert (raised.value.reason, raised.value.piece) == (reason, piece)
    assert is_gone(pid)
    assert await works(child)
    assert child.pid != pid


async def test_each_piece_of_a_call_has_the_processor_for_its_own_time() -> None:
    async with Child(MODULE, PATHS, limits=Limits(cpu_seconds=0.2)) as child:
        assert await ask(child, "work", 4, 0.1) == "done"
        with pytest.raises(errors.Exceeded, match=r"piece 0: needs more than 0\.2 s"):
            await ask(child, "work", 1, 0.6)


async def test_a_call_that_waits_is_ended_by_the_clock_of_the_parent() -> None:
    async with Child(MODULE, PATHS, limits=Limits(wall_seconds=1)) as child:
        with pytest.raises(errors.Exceeded, match="a long wait: takes longer than 1 s"):
            await ask(child, "wait")
        assert await works(child)


async def test_a_request_that_is_too_large_is_not_sent(child: Child) -> None:
    assert await works(child)
    pid = child.pid
    with pytest.raises(errors.Exceeded, match=r"has 8,388,\d+ bytes; at most 8,388,608 are allowed"):
        await ask(child, "echo", "x" * 8 * MIB)
    assert child.pid == pid


async def test_requests_and_answers_of_megabytes_pass(child: Child) -> None:
    text = "x" * (8 * MIB - 100)
    assert await ask(child, "echo", text) == text
    assert len(await ask(child, "answer", 16 * MIB - 2)) == 16 * MIB - 2


@pytest.mark.parametrize(
    ("request_", "how"),
    [
        (["die", signal.SIGSEGV], "death: the child process ended of signal 11"),
        (["end", 3], "the child process ended with exit code 3"),
        (["end", 0], "the child process ended with exit code 0"),
    ],
)
async def test_a_child_that_dies_is_one_error_and_the_next_call_works(
    child: Child, request_: list[object], how: str
) -> None:
    with pytest.raises(errors.Died, match=how):
        await ask(child, *request_)
    assert await works(child)


async def test_a_child_that_is_killed_in_the_middle_of_a_call_is_one_error(child: Child) -> None:
    assert await works(child)
    pid = child.pid
    assert pid
    call = asyncio.create_task(ask(child, "wait"))
    await waiting.eventually(lambda: child._piece == "a long wait")
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(errors.Died, match="signal 9"):
        await call
    assert is_gone(pid)
    assert await works(child)


async def test_a_child_that_is_killed_between_two_calls_is_missed_by_nobody(child: Child) -> None:
    assert await works(child)
    process = child._process
    assert process
    os.kill(process.pid, signal.SIGKILL)
    # As soon as the loop has learnt of it.
    await waiting.eventually(lambda: process.returncode is not None)
    assert await works(child)
    assert child.pid != process.pid


async def test_an_error_of_the_module_tells_its_place_and_nothing_of_what_it_worked_on(child: Child) -> None:
    with pytest.raises(errors.Failed, match=r"ValueError at .*sandboxed\.py:\d+") as raised:
        await ask(child, "fail")
    assert "secret" not in str(raised.value)
    assert await works(child)
    with pytest.raises(errors.Failed, match="TypeError at"):
        await ask(child, "no json")


async def test_a_call_that_is_cancelled_leaves_no_process_and_the_next_one_works(child: Child) -> None:
    assert await works(child)
    pid = child.pid
    assert pid
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await ask(child, "wait")
    assert is_gone(pid)
    assert await works(child)


async def test_calls_at_the_same_time_wait_for_each_other(child: Child) -> None:
    answers = await asyncio.gather(*(ask(child, "echo", number) for number in range(50)))
    assert answers == list(range(50))


async def test_two_children_work_side_by_side(child: Child) -> None:
    async with Child(MODULE, PATHS) as other:
        assert await works(child)
        waits = asyncio.create_task(ask(child, "wait"))
        assert await works(other)
        with pytest.raises(errors.Exceeded):
            await ask(other, "remember", 300)
        assert await works(other)
        assert not waits.done()
        await child.close()
        with pytest.raises(errors.Died):
            await waits


async def test_a_closed_child_is_gone_and_no_call_starts_another(child: Child) -> None:
    assert await works(child)
    pid = child.pid
    assert pid
    waits = asyncio.create_task(ask(child, "wait"))
    queued = asyncio.create_task(ask(child, "echo", 1))
    await asyncio.sleep(0)
    await child.close()
    assert is_gone(pid)
    with pytest.raises(errors.Died):
        await waits
    with pytest.raises(errors.NotStarted, match="closed"):
        await queued
    with pytest.raises(errors.NotStarted, match="closed"):
        await ask(child, "echo", 1)
    assert child.pid is None
    await child.close()


async def test_a_child_ends_when_its_parent_is_gone(child: Child) -> None:
    assert await works(child)
    pid = child.pid
    assert pid
    process = child._process
    assert process
    assert process.stdin
    # As the kernel closes it when this process ends.
    process.stdin.close()
    await waiting.eventually(lambda: is_gone(pid))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nowhere", "ModuleNotFoundError: No module named 'nowhere'"),
        ("raise SystemExit(4)", "it says nothing"),
        ("handler = None", "AttributeError: module 'broken' has no attribute 'handle'"),
    ],
)
async def test_a_module_that_cannot_be_loaded_is_named_in_the_error(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "broken.py").write_text(text)
    async with Child("broken", [tmp_path]) as child:
        for _ in range(2):
            with pytest.raises(errors.NotStarted, match=f"cannot be started: {said}"):
                await child.call(b"[]")
            assert child.pid is None


async def test_an_interpreter_that_is_not_there_is_named_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    async with Child(MODULE, PATHS) as child:
        with pytest.raises(errors.NotStarted, match="/nowhere/python"):
            await child.call(b"[]")


async def test_nothing_beside_the_standard_library_stands_in_for_it(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise RuntimeError('not the real one')")
    async with Child(MODULE, [tmp_path, *PATHS]) as child:
        assert await works(child)
