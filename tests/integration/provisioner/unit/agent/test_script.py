"""A script runs in a group of its own, ends at its deadline, and is never left to itself."""

import asyncio
import dataclasses
import os
import signal
from pathlib import Path

import pytest

from support.waiting import eventually
from tinkwell.provisioner.runtime.process import identity
from tinkwell.provisioner.unit import script
from tinkwell.provisioner.unit.script import Ending, Script


class Place:
    """A folder with a script, and the lines that were heard."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[tuple[str, str]] = []

    @property
    def record(self) -> Path:
        return self.folder / "process"

    def write(self, text: str, *, timeout_seconds: float = 30.0, mode: int = 0o755) -> Script:
        path = self.folder / "hook"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(mode)
        return Script(
            argv=[str(path)],
            environment={"PATH": "/usr/bin:/bin", "WHO": "web/0"},
            folder=self.folder,
            record=self.record,
            timeout_seconds=timeout_seconds,
        )

    async def hear(self, stream: str, line: str) -> None:
        self.lines.append((stream, line))

    def number(self, name: str) -> int:
        return int((self.folder / name).read_text())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _is_alive(pid: int) -> bool:
    return bool(identity.of(pid))


async def test_a_script_has_its_environment_and_folder_and_says_lines(place: Place) -> None:
    text = 'echo "$WHO in $(pwd)"; env | grep -c TINKWELL; read -r line || printf "no input\\nno end" >&2'
    assert await place.write(text).run(place.hear) == Ending()
    assert sorted(place.lines) == [
        ("STDERR", "no end"),
        ("STDERR", "no input"),
        ("STDOUT", "0"),
        ("STDOUT", f"web/0 in {place.folder}"),
    ]


async def test_its_exit_code_is_known(place: Place) -> None:
    assert await place.write("exit 3").run(place.hear) == Ending(code=3)


async def test_a_signal_from_outside_is_known(place: Place) -> None:
    assert await place.write("kill -KILL $$").run(place.hear) == Ending(signal=9)


async def test_what_cannot_be_executed_fails_and_says_why(place: Place) -> None:
    ending = await place.write("true", mode=0o644).run(place.hear)
    assert ending.code == 126
    assert "ermission denied" in place.lines[0][1]


async def test_its_process_is_written_down_before_it_begins(place: Place) -> None:
    await place.write("cat process; echo; echo $$").run(place.hear)
    (_, name), (_, pid) = place.lines
    assert name.split()[1] == pid


async def test_at_the_deadline_it_is_asked_to_end(place: Place) -> None:
    text = "trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    assert await place.write(text, timeout_seconds=0.5).run(place.hear) == Ending(code=5, is_late=True)
    assert ("STDOUT", "asked") in place.lines


async def test_what_the_fork_takes_is_time_of_the_script(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, original, given = asyncio.get_running_loop().time, script._Process.has_ended, list[float]()

    async def fork(_script: Script) -> None:
        until = clock() + 0.05
        await eventually(lambda: clock() > until, deadline_seconds=30.0)

    async def has_ended(process: script._Process, seconds: float, stop: asyncio.Event | None = None) -> bool:
        given.append(seconds)
        return await original(process, seconds, stop)

    monkeypatch.setattr(script._Process, "has_ended", has_ended)
    assert await dataclasses.replace(place.write("true"), fork=fork).run(place.hear) == Ending()
    assert given[0] <= 29.95


async def test_who_does_not_listen_is_killed_with_its_group(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "TERM_SECONDS", 0.2)
    text = "trap '' TERM; sleep 60 & echo $! > child; while :; do sleep 0.05; done"
    assert await place.write(text, timeout_seconds=0.5).run(place.hear) == Ending(signal=9, is_late=True)
    await eventually(lambda: not _is_alive(place.number("child")))


async def test_the_background_of_a_success_lives_on_and_of_a_failure_does_not(place: Place) -> None:
    assert (await place.write("sleep 60 & echo $! > child").run(place.hear)).is_success
    assert _is_alive(place.number("child"))
    os.kill(place.number("child"), signal.SIGKILL)
    assert (await place.write("sleep 60 & echo $! > child; exit 1").run(place.hear)).code == 1
    await eventually(lambda: not _is_alive(place.number("child")))


async def test_cancelling_ends_it(place: Place) -> None:
    running = asyncio.create_task(place.write("echo $$ > self; sleep 60").run(place.hear))
    await eventually(lambda: (place.folder / "self").exists() and bool((place.folder / "self").read_text()))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not _is_alive(place.number("self"))


async def test_lines_without_end_come_in_parts(place: Place) -> None:
    written = place.write("printf 'abcdefghijklmnopqrstuvwxyz'; printf '\\303\\251\\377'")
    await dataclasses.replace(written, line_characters=10).run(place.hear)
    assert "".join(line for _, line in place.lines) == "abcdefghijklmnopqrstuvwxyzé\ufffd"
    assert max(len(line) for _, line in place.lines) == 10


async def test_what_a_dead_agent_has_left_is_ended_with_all_of_it(place: Place) -> None:
    process = await asyncio.create_subprocess_shell(
        "setsid sleep 60 & echo $! > child; wait", cwd=place.folder, process_group=0
    )
    await eventually(lambda: (place.folder / "child").exists() and bool((place.folder / "child").read_text()))
    place.record.write_text(identity.of(process.pid))
    await asyncio.to_thread(script.end_former, place.record)
    await process.wait()
    await eventually(lambda: not _is_alive(place.number("child")))
    assert not place.record.exists()
    await asyncio.to_thread(script.end_former, place.record)


async def test_a_stranger_with_the_number_of_the_former_process_is_left_alone(place: Place) -> None:
    process = await asyncio.create_subprocess_exec("sleep", "60", process_group=0)
    name = identity.of(process.pid)
    place.record.write_text(name.rpartition(" ")[0] + " 1")
    script.end_former(place.record)
    assert identity.living(name)
    process.kill()
    await process.wait()
