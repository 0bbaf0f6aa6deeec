"""How a child binds itself. What the kernel then makes of it is in `test_child.py`."""

import ctypes
import errno
import os
import resource
import signal
import sys
from types import ModuleType
from typing import Any

import pytest

from tinkwell.sandbox import frame, limit, runner, secrecy
from tinkwell.sandbox.limit import Limits

USER, NETWORK = 0x10000000, 0x40000000


class Libc:
    """Stands in for a system that allows some namespaces."""

    def __init__(self, *allowed: int) -> None:
        self.allowed = allowed
        self.asked: list[int] = []

    def unshare(self, flags: int) -> int:
        self.asked.append(flags)
        ctypes.set_errno(0 if flags in self.allowed else errno.EPERM)
        return 0 if flags in self.allowed else -1


@pytest.mark.parametrize(
    ("allowed", "asked", "said"),
    [
        ([NETWORK], [NETWORK], ""),
        ([NETWORK | USER], [NETWORK, NETWORK | USER], ""),
        ([], [NETWORK, NETWORK | USER], "Operation not permitted"),
    ],
)
def test_a_network_of_its_own_is_made_in_a_user_namespace_where_it_may_not_be_made_without(
    allowed: list[int], asked: list[int], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    libc = Libc(*allowed)
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: libc)
    assert limit.leave_network() == said
    assert libc.asked == asked


@pytest.mark.parametrize(("hard", "memory"), [(resource.RLIM_INFINITY, 1000), (5000, 1000), (500, 500)])
def test_a_limit_that_is_lower_already_stays(hard: int, memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[int, Any] = {}
    monkeypatch.setattr(resource, "getrlimit", lambda _: (hard, hard))
    monkeypatch.setattr(resource, "setrlimit", found.__setitem__)
    handlers: list[Any] = []
    monkeypatch.setattr(signal, "signal", lambda *given: handlers.append(given))
    limit.set_limits(Limits(memory_bytes=1000))
    assert found == {
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NOFILE: (3, 3),
        resource.RLIMIT_AS: (memory, memory),
    }
    assert handlers == [(signal.SIGVTALRM, signal.SIG_DFL)]


def test_the_clock_counts_the_time_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    armed: list[Any] = []
    monkeypatch.setattr(signal, "setitimer", lambda *given: armed.append(given))
    limit.arm(0.5)
    assert armed == [(signal.ITIMER_VIRTUAL, 0.5)]


def test_standard_error_goes_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    kept = os.dup(2)
    try:
        limit.silence()
        os.write(2, b"a secret")
    finally:
        os.dup2(kept, 2)
        os.close(kept)
    assert capfd.readouterr().err == ""


class Bound:
    """Runs `runner.main` over pipes of the test, without binding the test's own process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, handle: Any) -> None:
        module = ModuleType("handling")
        module.__dict__["handle"] = handle
        monkeypatch.setitem(sys.modules, "handling", module)
        self.done: list[str] = []
        monkeypatch.setattr(limit, "leave_network", self._leave_network)
        monkeypatch.setattr(secrecy, "hide", lambda: self.done.append("secrecy"))
        monkeypatch.setattr(limit, "silence", lambda: self.done.append("silence"))
        monkeypatch.setattr(limit, "set_limits", lambda _: self.done.append("limits"))
        monkeypatch.setattr(limit, "arm", lambda _: None)
        source, self.calls = os.pipe()
        self.answers, target = os.pipe()
        monkeypatch.setattr(runner, "_INPUT", source)
        monkeypatch.setattr(runner, "_OUTPUT", target)
        self._open = [source, self.answers, target]

    def _leave_network(self) -> str:
        self.done.append("network")
        return "why"

    def run(self, *requests: bytes) -> bytes:
        for request in requests:
            os.write(self.calls, frame.pack(frame.CALL, request))
        os.close(self.calls)
        try:
            runner.main(Limits().dump(), "handling")
        finally:
            answer = os.read(self.answers, 10_000)
            for descriptor in self._open:
                os.close(descriptor)
        return answer


def test_a_child_says_that_it_is_ready_once_it_is_bound_and_ends_with_its_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound = Bound(monkeypatch, lambda request, _: request)
    answer = bound.run(b"1", b"2")
    assert bound.done == ["network", "secrecy", "silence", "limits"]
    assert answer == b"".join(
        (frame.pack(frame.READY, b"why"), frame.pack(frame.ANSWER, b"1"), frame.pack(frame.ANSWER, b"2"))
    )


def test_a_child_without_memory_ends_with_a_code_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def handle(*_: object) -> object:
        raise MemoryError

    def end(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", end)
    with pytest.raises(SystemExit) as raised:
        Bound(monkeypatch, handle).run(b"1")
    assert raised.value.code == frame.MEMORY_EXIT_CODE
