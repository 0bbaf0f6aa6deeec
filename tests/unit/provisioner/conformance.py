"""What every runtime must do. A module of tests inherits `RuntimeConformance` and gives it a harness.

The runs are programs by name; how a runtime is brought to run them is its harness's business.
"""

import asyncio
import contextlib
import uuid
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import pytest

from support.waiting import eventually
from tinkwell.client.workflow.model import LogStream
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import output, port

SECONDS = 30
# An engine takes its time for a gigabyte, and more where others want something of it.
FLOOD_SECONDS = 300


class Program(StrEnum):
    """What a run does, as a shell script. One that waits does so until it is killed or `resume` is in its directory."""

    NAMED = "what another entry point does"
    GREET = "echo one; echo two >&2; printf 'three, unended'"
    FAIL = "echo broken >&2; exit 3"
    WAIT = "echo waiting; until [ -e $WORKFLOW_DIR/resume ]; do sleep 0.05; done; echo resumed; exit 7"
    RESUME = "touch $WORKFLOW_DIR/resume"
    COUNT = "echo x >> $WORKFLOW_DIR/count; cat $WORKFLOW_DIR/count"
    SHOUT = (
        "yes 0123456789012345678901234567890123456789012345678901234567890123456789 | head -n 160000; echo why; exit 4"
    )
    ADVANCE = r"until [ -e $WORKFLOW_DIR/resume ]; do printf '1 %%\r'; sleep 0.05; done; printf '50 %%\rdone\nend\n'"
    MUMBLE = r"printf 'caf\303\251 \377 \000 end\n'"
    LONG = "head -c 40000 /dev/zero | tr '\\0' 'z'; echo"
    TELL = 'echo "$GREETING"'
    PLACE = 'pwd; cat "$DATA/file"'
    SETTLE = "pwd; ls -A; touch own-file; ls -A"
    UNPACK = "cat >/dev/null; find . -type f | sort; cat sub/deep/b.txt; echo more > sub/own; echo changed > a.txt"
    ECHO = "cat; echo end >&2"
    ECHO_AND_WAIT = "cat; until [ -e $WORKFLOW_DIR/resume ]; do sleep 0.05; done; echo resumed; exit 7"
    MEASURE = "wc -c"
    SAY_NINE = "printf 123456789"
    FLOOD_STDOUT = "head -c 1000000000 /dev/zero; exit 4"
    FLOOD_STDERR = "head -c 1000000000 /dev/zero >&2; echo done"
    IGNORE = "sleep 0.2; echo done"
    QUIT = "exit 5"
    STUBBORN = "trap '' TERM INT HUP; echo waiting; while :; do sleep 0.05; done"


class Harness(Protocol):
    """A runtime under test."""

    @property
    def runtime(self) -> port.Runtime:
        """The runtime."""

    async def restart(self) -> None:
        """Put a new runtime in its place, as after the death of the provisioner."""

    def spec(self, key: RunKey, program: Program, **fields: Any) -> port.RunSpec:
        """Describe a run, whose files are where `spec_of` says."""

    def spec_with_entry_point(self, key: RunKey, *command: str) -> port.RunSpec:
        """Describe a run that says "other" and its command."""

    def spec_without_image(self, key: RunKey) -> port.RunSpec:
        """Describe a run of an image that cannot be had."""

    def spec_without_entry_point(self, key: RunKey) -> port.RunSpec:
        """Describe a run that cannot be started."""


MUCH = b"0123456789abcdef" * 131_072  # 2 MiB
NO_FOLDER = Path("/no/folder")


def new_key(*, owner: str | None = None, kind: RunKind = RunKind.WORKFLOW) -> RunKey:
    return RunKey(kind, owner or str(uuid.uuid4()), str(uuid.uuid4()), 1)


def spec_of(
    runtime: port.Runtime,
    folder: Path,
    key: RunKey,
    *,
    image: str,
    environment: tuple[str, ...] = (),
    mounts: tuple[port.Mount, ...] = (),
    **fields: Any,
) -> port.RunSpec:
    """Describe a run whose WORKFLOW_DIR is a folder that all runs of its owner share."""
    files = port.Mount(source=str(folder / key.owner), target="/workflow", may_create=True)
    return port.RunSpec(
        key=key,
        image=image,
        environment=(f"WORKFLOW_DIR={runtime.seen_at(files)}", *environment),
        mounts=(files, *mounts),
        **fields,
    )


async def read(run: port.Run, *, seconds: float = SECONDS) -> list[tuple[int, LogStream, str]]:
    async with asyncio.timeout(seconds), contextlib.aclosing(run.lines()) as lines:
        return [(line.number, line.stream, line.text) async for line in lines]


async def wait(run: port.Run, *, seconds: float = SECONDS) -> port.Exit:
    async with asyncio.timeout(seconds):
        return await run.wait()


async def texts(run: port.Run) -> list[str]:
    return [text for _, _, text in await read(run)]


async def first_line(run: port.Run) -> str:
    async with asyncio.timeout(SECONDS), contextlib.aclosing(run.lines()) as lines:
        return (await anext(lines)).text


class RuntimeConformance:
    async def test_a_run_gives_its_output_and_its_exit(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.GREET))
        lines = await read(run)
        # The two streams are two pipes, so nobody knows the order between them.
        assert [number for number, _, _ in lines] == [1, 2, 3]
        assert [text for _, stream, text in lines if stream is LogStream.STDOUT] == ["one", "three, unended"]
        assert [text for _, stream, text in lines if stream is LogStream.STDERR] == ["two"]
        ending = await wait(run)
        assert ending.code == 0
        assert ending.seconds is not None
        assert ending.seconds >= 0

    async def test_output_and_end_can_be_waited_for_at_once(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.GREET))
        lines, ending = await asyncio.gather(read(run), wait(run))
        assert (len(lines), ending.code) == (3, 0)

    async def test_the_exit_code_is_the_program_s(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.FAIL))
        assert (await wait(run)).code == 3
        assert await texts(run) == ["broken"]

    async def test_a_killed_run_ends_and_so_does_its_output(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.WAIT))
        assert await first_line(run) == "waiting"
        await run.kill()
        assert (await wait(run)).code == 137
        assert await texts(run) == ["waiting"]

    async def test_killing_does_nothing_to_a_run_that_has_ended(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.FAIL))
        await wait(run)
        await run.kill()
        assert (await wait(run)).code == 3

    async def test_a_waiter_may_give_up_without_harm(self, harness: Harness) -> None:
        key = new_key()
        run = await harness.runtime.start(harness.spec(key, Program.WAIT))
        waiter = asyncio.ensure_future(run.wait())
        reader = asyncio.ensure_future(read(run))
        await first_line(run)
        for task in (waiter, reader):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await wait(await harness.runtime.start(harness.spec(new_key(owner=key.owner), Program.RESUME)))
        assert (await wait(run)).code == 7
        assert await texts(run) == ["waiting", "resumed"]

    async def test_a_key_is_run_once_however_often_it_is_started(self, harness: Harness) -> None:
        key = new_key()
        for _ in range(3):
            run = await harness.runtime.start(harness.spec(key, Program.COUNT))
            await wait(run)
        assert await texts(run) == ["x"]

    async def test_two_starters_at_once_start_one_run(self, harness: Harness) -> None:
        spec = harness.spec(new_key(), Program.COUNT)
        runs = await asyncio.gather(harness.runtime.start(spec), harness.runtime.start(spec))
        assert [await texts(run) for run in runs] == [["x"], ["x"]]

    async def test_another_attempt_is_another_run(self, harness: Harness) -> None:
        first = new_key()
        second = RunKey(RunKind.WORKFLOW, first.owner, first.run, 2)
        for key in (first, second):
            run = await harness.runtime.start(harness.spec(key, Program.COUNT))
            await wait(run)
        assert await texts(run) == ["x", "x"]

    async def test_a_hook_is_a_run_of_its_own_beside_its_attempt(self, harness: Harness) -> None:
        main = new_key()
        hook = replace(main, hook="on-failure")
        for key in (main, hook, replace(main, hook="on-timeout")):
            await wait(await harness.runtime.start(harness.spec(key, Program.COUNT)))
        await harness.restart()
        assert await harness.runtime.held(RunKind.WORKFLOW) >= {main, hook}
        runs = [await harness.runtime.find(key) for key in (main, hook)]
        assert [run and run.key for run in runs] == [main, hook]
        assert [await texts(run) for run in runs if run] == [["x"], ["x", "x"]]
        for run in runs[1:]:
            assert run is not None
            await run.remove()
        assert await harness.runtime.find(hook) is None
        assert await harness.runtime.find(main) is not None

    async def test_files_stay_from_one_action_to_the_next_of_a_workflow(self, harness: Harness) -> None:
        first = new_key()
        await wait(await harness.runtime.start(harness.spec(first, Program.COUNT)))
        run = await harness.runtime.start(harness.spec(new_key(owner=first.owner), Program.COUNT))
        assert await texts(run) == ["x", "x"]
        other = await harness.runtime.start(harness.spec(new_key(), Program.COUNT))
        assert await texts(other) == ["x"]

    async def test_the_last_entry_of_a_name_is_the_environment_s(self, harness: Harness) -> None:
        spec = harness.spec(new_key(), Program.TELL, environment=("GREETING=no", "GREETING=a=b c"))
        assert await texts(await harness.runtime.start(spec)) == ["a=b c"]

    async def test_output_that_is_no_text_becomes_text(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.MUMBLE))
        assert await texts(run) == ["café \ufffd \ufffd end"]

    async def test_a_long_line_is_split(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.LONG))
        assert [len(text) for text in await texts(run)] == [16384, 16384, 40000 - 2 * 16384]

    async def test_of_too_much_output_beginning_and_end_are_kept_and_the_run_is_not_held_up(
        self, harness: Harness
    ) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.SHOUT))
        said, ending = await asyncio.gather(read(run, seconds=2 * SECONDS), wait(run))
        lines = [text for _, _, text in said]
        assert ending.code == 4
        assert (len(lines[0]), lines[-1]) == (70, "why")
        assert [line for line in lines if " bytes are left out here, in " in line]
        assert sum(len(line) + output.LINE_OVERHEAD_BYTES for line in lines) <= output.MAX_BYTES + 1000

    async def test_a_progress_is_seen_while_it_goes_on(self, harness: Harness) -> None:
        key = new_key()
        run = await harness.runtime.start(harness.spec(key, Program.ADVANCE))
        async with asyncio.timeout(SECONDS), contextlib.aclosing(run.lines()) as lines:
            first = await anext(lines)
            assert (first.number, first.text, first.is_open) == (1, "1 %", True)
            await wait(await harness.runtime.start(harness.spec(new_key(owner=key.owner), Program.RESUME)))
            rest = [line async for line in lines]
        assert [(line.number, line.text) for line in rest if not line.is_open] == [(1, "done"), (2, "end")]

    async def test_a_run_is_found_until_it_is_removed(self, harness: Harness) -> None:
        key = new_key()
        assert await harness.runtime.find(key) is None
        await harness.runtime.start(harness.spec(key, Program.GREET))
        run = await harness.runtime.find(key)
        assert run is not None
        assert run.key == key
        assert (await wait(run)).code == 0
        assert key in await harness.runtime.held(RunKind.WORKFLOW)
        await run.remove()
        assert await harness.runtime.find(key) is None
        assert key not in await harness.runtime.held(RunKind.WORKFLOW)
        await run.remove()

    async def test_removing_kills_a_run_that_goes_on(self, harness: Harness) -> None:
        key = new_key()
        run = await harness.runtime.start(harness.spec(key, Program.WAIT))
        await run.remove()
        assert await harness.runtime.find(key) is None

    async def test_a_run_outlives_the_runtime_and_is_adopted(self, harness: Harness) -> None:
        key = new_key()
        first = await harness.runtime.start(harness.spec(key, Program.WAIT))
        assert await first_line(first) == "waiting"
        await harness.restart()
        assert await harness.runtime.held(RunKind.WORKFLOW) >= {key}
        run = await harness.runtime.find(key)
        assert run is not None
        assert await first_line(run) == "waiting"
        await wait(await harness.runtime.start(harness.spec(new_key(owner=key.owner), Program.RESUME)))
        assert (await wait(run)).code == 7
        assert [(number, text) for number, _, text in await read(run)] == [(1, "waiting"), (2, "resumed")]

    async def test_a_run_that_ended_unwatched_tells_its_end(self, harness: Harness) -> None:
        key = new_key()
        await wait(await harness.runtime.start(harness.spec(key, Program.FAIL)))
        await harness.restart()
        run = await harness.runtime.find(key)
        assert run is not None
        assert (await wait(run)).code == 3
        assert await texts(run) == ["broken"]

    async def test_an_image_that_cannot_be_had_starts_nothing(self, harness: Harness) -> None:
        key = new_key()
        with pytest.raises(port.RunError, match="image") as caught:
            await harness.runtime.start(harness.spec_without_image(key))
        assert caught.value.reason is port.Reason.IMAGE
        assert await harness.runtime.find(key) is None

    async def test_an_entry_point_that_does_not_run_leaves_nothing_behind(self, harness: Harness) -> None:
        key = new_key()
        with pytest.raises(port.RunError, match="start") as caught:
            await harness.runtime.start(harness.spec_without_entry_point(key))
        assert caught.value.reason is port.Reason.ENTRY_POINT
        assert await harness.runtime.find(key) is None

    async def test_after_a_cancelled_start_find_tells_the_truth(self, harness: Harness) -> None:
        key = new_key()
        start = asyncio.ensure_future(harness.runtime.start(harness.spec(key, Program.WAIT)))
        await asyncio.sleep(0)
        start.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await start
        before = await harness.runtime.find(key)
        if before is not None:
            await before.remove()
        assert await harness.runtime.find(key) is None
        assert key not in await harness.runtime.held(RunKind.WORKFLOW)

    async def test_a_run_that_may_not_begin_is_not_there_and_begins_when_it_may(self, harness: Harness) -> None:
        spec = harness.spec(new_key(kind=RunKind.RELEASE), Program.COUNT, stdin=b"")
        with pytest.raises(port.RunError) as caught:
            await harness.runtime.start(spec, lambda: False)
        assert caught.value.reason is port.Reason.FORBIDDEN
        assert await harness.runtime.find(spec.key) is None
        assert await texts(await harness.runtime.start(spec, lambda: True)) == ["x"]

    async def test_what_is_left_of_former_attempts_is_found_and_nothing_else(self, harness: Harness) -> None:
        key = new_key()
        others = [key, replace(key, attempt=3), replace(key, attempt=12), new_key(owner=key.owner)]
        for each in others:
            await wait(await harness.runtime.start(harness.spec(each, Program.FAIL)))
        await harness.restart()
        found = await harness.runtime.find_former(replace(key, attempt=12))
        assert sorted(run.key for run in found) == [key, replace(key, attempt=3)]
        for run in found:
            await run.kill()
            await run.remove()
        assert await harness.runtime.find_former(replace(key, attempt=12)) == []
        assert await harness.runtime.find(replace(key, attempt=12)) is not None

    async def test_runs_are_told_apart_by_kind_and_found_by_whom_they_belong_to(self, harness: Harness) -> None:
        action = new_key()
        step, other = new_key(owner=action.owner, kind=RunKind.RELEASE), new_key(kind=RunKind.RELEASE)
        for key in (action, step, replace(step, attempt=2), other):
            await wait(await harness.runtime.start(harness.spec(key, Program.FAIL)))
        await harness.restart()
        assert await harness.runtime.held(RunKind.WORKFLOW) == {action}
        assert await harness.runtime.held(RunKind.RELEASE) == {step, replace(step, attempt=2), other}
        assert [run.key for run in await harness.runtime.find_owned(RunKind.WORKFLOW, action.owner)] == [action]
        owned = await harness.runtime.find_owned(RunKind.RELEASE, step.owner)
        assert sorted(run.key for run in owned) == [step, replace(step, attempt=2)]
        assert [(await wait(run)).code for run in owned] == [3, 3]
        assert [run.key for run in await harness.runtime.find_former(replace(step, attempt=2))] == [step]

    async def test_a_run_begins_in_its_workdir_and_has_its_mounts(self, harness: Harness, tmp_path: Path) -> None:
        (tmp_path / "given").mkdir()
        (tmp_path / "given" / "file").write_text("from outside")
        mount = port.Mount(source=str(tmp_path / "given"), target="/data", read_only=True)
        seen_at = harness.runtime.seen_at(mount)
        spec = harness.spec(
            new_key(), Program.PLACE, mounts=(mount,), environment=(f"DATA={seen_at}",), workdir=seen_at
        )
        assert await texts(await harness.runtime.start(spec)) == [seen_at, "from outside"]

    async def test_a_mount_that_is_not_there_fails_the_start(self, harness: Harness) -> None:
        key = new_key()
        spec = harness.spec(key, Program.GREET, mounts=(port.Mount(source=str(NO_FOLDER), target="/data"),))
        with pytest.raises(port.RunError, match="/no/folder") as caught:
            await harness.runtime.start(spec)
        assert caught.value.reason is port.Reason.SPECIFICATION
        assert await harness.runtime.find(key) is None

    async def test_another_entry_point_is_run_instead_of_the_image_s(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec_with_entry_point(new_key(), "x", "y z"))
        assert await texts(run) == ["other x y z"]

    async def test_what_an_image_is_has_a_name(self, harness: Harness) -> None:
        spec = harness.spec(new_key(kind=RunKind.RELEASE), Program.GREET)
        image_id = await harness.runtime.image_id(spec.image)
        run = await harness.runtime.start(spec)
        await wait(run)
        assert run.image_id == image_id != ""
        with pytest.raises(port.RunError, match="image") as caught:
            await harness.runtime.image_id(harness.spec_without_image(new_key()).image)
        assert caught.value.reason is port.Reason.IMAGE

    @pytest.mark.parametrize("stdin", [None, b"", b"one\ntwo\n"])
    async def test_a_run_gets_its_input_and_the_end_of_it(self, harness: Harness, stdin: bytes | None) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.ECHO, stdin=stdin))
        lines = await read(run)
        assert [text for _, stream, text in lines if stream is LogStream.STDOUT] == (stdin or b"").decode().split()
        assert [text for _, stream, text in lines if stream is LogStream.STDERR] == ["end"]
        assert (await wait(run)).code == 0

    async def test_an_answer_is_what_was_said_on_stdout_and_no_line(self, harness: Harness) -> None:
        said = b'{"a": [1]}\n\n\xff\0'
        run = await harness.runtime.start(harness.spec(new_key(), Program.ECHO, stdin=said, answer_bytes=100))
        lines, ending = await asyncio.gather(read(run), wait(run))
        assert ending.code == 0
        assert await run.answer() == said
        assert lines == await read(run) == [(1, LogStream.STDERR, "end")]

    async def test_much_input_arrives_whole(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.MEASURE, stdin=MUCH, answer_bytes=100))
        assert (await wait(run)).code == 0
        assert (await run.answer()).strip() == str(len(MUCH)).encode()

    async def test_an_answer_may_be_empty_and_that_of_a_failure_counts_as_well(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.FAIL, stdin=b"", answer_bytes=100))
        assert (await wait(run)).code == 3
        assert await run.answer() == b""
        assert await texts(run) == ["broken"]

    async def test_an_answer_may_have_as_many_bytes_as_were_asked_for_and_no_more(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.SAY_NINE, answer_bytes=9))
        await wait(run)
        assert await run.answer() == b"123456789"
        run = await harness.runtime.start(harness.spec(new_key(), Program.SAY_NINE, answer_bytes=8))
        await wait(run)
        with pytest.raises(port.RunError, match="more than 8 bytes") as caught:
            await run.answer()
        assert caught.value.reason is port.Reason.ANSWER

    async def test_an_answer_without_end_is_killed(self, harness: Harness) -> None:
        spec = harness.spec(new_key(), Program.FLOOD_STDOUT, stdin=b"", answer_bytes=1_048_576)
        run = await harness.runtime.start(spec)
        assert (await wait(run)).code == 137
        with pytest.raises(port.RunError, match="more than 1,048,576 bytes"):
            await run.answer()

    @pytest.mark.timeout(FLOOD_SECONDS)
    async def test_too_many_lines_beside_an_answer_are_dropped_and_do_no_harm(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.FLOOD_STDERR, stdin=b"", answer_bytes=100))
        said, ending = await asyncio.gather(read(run, seconds=FLOOD_SECONDS), wait(run, seconds=FLOOD_SECONDS))
        lines = [text for _, _, text in said]
        assert ending.code == 0
        assert await run.answer() == b"done\n"
        assert " bytes are left out here, in " in lines[-1]
        assert sum(len(line.encode()) for line in lines) <= output.MAX_BYTES

    async def test_lines_beside_an_answer_need_not_be_read(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.ECHO, stdin=MUCH, answer_bytes=len(MUCH)))
        assert (await wait(run)).code == 0
        assert await run.answer() == MUCH

    @pytest.mark.parametrize(("program", "code"), [(Program.QUIT, 5), (Program.IGNORE, 0)])
    @pytest.mark.parametrize("answer_bytes", [0, 100])
    async def test_a_run_need_not_read_its_input(
        self, harness: Harness, program: Program, code: int, answer_bytes: int
    ) -> None:
        spec = harness.spec(new_key(), program, stdin=MUCH, answer_bytes=answer_bytes)
        run = await harness.runtime.start(spec)
        assert (await wait(run)).code == code
        await run.remove()
        assert await harness.runtime.find(spec.key) is None

    async def test_a_run_that_heeds_no_signal_is_killed_all_the_same(self, harness: Harness) -> None:
        run = await harness.runtime.start(harness.spec(new_key(), Program.STUBBORN, stdin=MUCH))
        assert await first_line(run) == "waiting"
        await run.kill()
        assert (await wait(run)).code == 137

    async def test_a_run_that_has_all_of_its_input_is_adopted(self, harness: Harness) -> None:
        key = new_key()
        first = await harness.runtime.start(harness.spec(key, Program.ECHO_AND_WAIT, stdin=b"waiting\n"))
        assert await first_line(first) == "waiting"
        await eventually(first.was_fed)
        await harness.restart()
        run = await harness.runtime.find(key)
        assert run is not None
        assert await run.was_fed()
        await wait(await harness.runtime.start(harness.spec(new_key(owner=key.owner), Program.RESUME)))
        assert (await wait(run)).code == 7
        assert [(number, text) for number, _, text in await read(run)] == [(1, "waiting"), (2, "resumed")]

    async def test_a_run_that_was_to_get_nothing_has_all_of_it(self, harness: Harness) -> None:
        key = new_key()
        await harness.runtime.start(harness.spec(key, Program.WAIT))
        await harness.restart()
        run = await harness.runtime.find(key)
        assert run is not None
        assert await run.was_fed()
        await run.remove()
