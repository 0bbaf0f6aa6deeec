"""Child processes: where they may be started, and how they end."""

import asyncio
import signal
import sys
import threading
from pathlib import Path

import pytest

from support import waiting
from tinkwell.server.app.dev import child


def test_a_child_is_started_by_the_main_thread_only() -> None:
    # The kernel would send its death signal when that other thread ends, however long this process goes on.
    raised: list[BaseException] = []

    def start() -> None:
        try:
            asyncio.run(child.start([sys.executable, "-V"], death_signal=signal.SIGKILL, output=-3))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join(timeout=30)
    assert [type(error) for error in raised] == [AssertionError]
    assert "thread" in str(raised[0])


@pytest.mark.parametrize(
    ("trap", "expected"),
    [("", -signal.SIGTERM), ("trap '' TERM;", -signal.SIGINT), ("trap '' TERM INT;", -signal.SIGKILL)],
)
async def test_a_child_that_does_not_listen_is_ended_by_the_next_signal(
    tmp_path: Path, trap: str, expected: int
) -> None:
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = await child.start(
            ["/bin/sh", "-c", f"{trap} echo ready; exec sleep 60"],
            death_signal=signal.SIGKILL,
            output=output,
        )
    await waiting.eventually(lambda: "ready" in child.tail(log))
    code = await child.stop(process, (signal.SIGTERM, signal.SIGINT), patience_seconds=0.2)
    assert code == expected
