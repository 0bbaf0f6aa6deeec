"""The fake runtime is a runtime."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from unit.provisioner import conformance, workspace_conformance
from unit.provisioner.conformance import Program
from unit.provisioner.fake_runtime import FakeRun, FakeRuntime, FakeWorld

from tinkwell.client.workflow.model import LogStream
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.runtime import output, port

STDOUT, STDERR = LogStream.STDOUT, LogStream.STDERR
SAID: dict[Program, list[tuple[LogStream, bytes | str]]] = {
    Program.GREET: [(STDOUT, "one\n"), (STDERR, "two\n"), (STDOUT, "three, unended")],
    Program.FAIL: [(STDERR, "broken\n")],
    Program.WAIT: [(STDOUT, "waiting\n")],
    Program.SHOUT: [(STDOUT, (b"0123456789" * 7 + b"\n") * 160_000 + b"why\n")],
    Program.ADVANCE: [(STDOUT, "1 %\r")],
    Program.MUMBLE: [(STDOUT, b"caf\303\251 \377 \000 end\n")],
    Program.LONG: [(STDOUT, "z" * 40_000 + "\n")],
    Program.SAY_NINE: [(STDOUT, "123456789")],
    Program.FLOOD_STDERR: [(STDERR, bytes(2 * output.MAX_BYTES)), (STDOUT, "done\n")],
    Program.IGNORE: [(STDOUT, "done\n")],
    Program.STUBBORN: [(STDOUT, "waiting\n")],
}
CODES = {
    Program.FAIL: 3,
    Program.WAIT: 7,
    Program.ECHO_AND_WAIT: 7,
    Program.SHOUT: 4,
    Program.FLOOD_STDOUT: 4,
    Program.QUIT: 5,
}


def _place(spec: port.RunSpec) -> str:
    (source,) = (each.source for each in spec.mounts if each.target == spec.workdir)
    return f"{spec.workdir}\n" + Path(source, "file").read_text()


def _unpacked(spec: port.RunSpec) -> str:
    names = "".join(f"./{path}\n" for path in sorted(spec.files))
    return names + spec.files["sub/deep/b.txt"].decode()


class FakeHarness:
    """Performs the programs of the conformance suite."""

    def __init__(self) -> None:
        self.world = FakeWorld()
        self.tasks: set[asyncio.Task[None]] = set()
        self.resumed: dict[str, asyncio.Event] = {}
        self.runtime = self._open()

    def _open(self) -> FakeRuntime:
        runtime = FakeRuntime(self.world, self._perform)
        runtime.failures["absent"] = port.RunError(port.Reason.IMAGE, "no image")
        runtime.failures["broken"] = port.RunError(port.Reason.ENTRY_POINT, "it did not start")
        return runtime

    async def restart(self) -> None:
        self.runtime = self._open()

    def spec(self, key: RunKey, program: Program, **fields: Any) -> port.RunSpec:
        return self._spec(key, command=(str(program),), **fields)

    def spec_without_image(self, key: RunKey) -> port.RunSpec:
        return self._spec(key, image="absent")

    def spec_without_entry_point(self, key: RunKey) -> port.RunSpec:
        return self._spec(key, image="broken")

    def spec_with_entry_point(self, key: RunKey, *command: str) -> port.RunSpec:
        return self._spec(key, entrypoint="other", command=command)

    def _spec(self, key: RunKey, *, image: str = "fake", **fields: Any) -> port.RunSpec:
        return conformance.spec_of(self.runtime, conformance.NO_FOLDER, key, image=image, **fields)

    def _perform(self, run: FakeRun) -> None:
        task = asyncio.ensure_future(self._play(run))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _play(self, run: FakeRun) -> None:
        program = Program.NAMED if run.spec.entrypoint else Program((run.spec.command or ("",))[0])
        resumed = self.resumed.setdefault(run.key.owner, asyncio.Event())
        if program is Program.RESUME:
            resumed.set()
        for stream, text in self._said(run, program):
            await run.write(text, stream)
        if program in (Program.WAIT, Program.ECHO_AND_WAIT):
            await resumed.wait()
            await run.write("resumed\n")
        if program is Program.ADVANCE:
            await resumed.wait()
            await run.write("50 %\rdone\nend\n")
        while program is Program.FLOOD_STDOUT and run.ending is None:
            await run.write(bytes(100_000))
        if program is not Program.STUBBORN:
            await run.exit(CODES.get(program, 0))

    def _said(self, run: FakeRun, program: Program) -> list[tuple[LogStream, bytes | str]]:
        """Return what a program says at once."""
        if program in SAID:
            return SAID[program]
        files = self.world.files.setdefault(run.key.owner, {})
        if program is Program.COUNT:
            files["count"] = files.get("count", "") + "x\n"
        said: dict[Program, Callable[[], list[tuple[LogStream, bytes | str]]]] = {
            Program.NAMED: lambda: [(STDOUT, " ".join(("other", *(run.spec.command or ()))))],
            Program.COUNT: lambda: [(STDOUT, files["count"])],
            Program.TELL: lambda: [(STDOUT, run.spec.variables()["GREETING"])],
            Program.PLACE: lambda: [(STDOUT, _place(run.spec))],
            Program.UNPACK: lambda: [(STDOUT, _unpacked(run.spec))],
            Program.SETTLE: lambda: [(STDOUT, f"{run.spec.workdir}\nown-file\n")],
            Program.ECHO: lambda: [(STDOUT, run.spec.stdin or b""), (STDERR, "end\n")],
            Program.ECHO_AND_WAIT: lambda: [(STDOUT, run.spec.stdin or b"")],
            Program.MEASURE: lambda: [(STDOUT, str(len(run.spec.stdin or b"")))],
        }
        return said[program]() if program in said else []

    async def close(self) -> None:
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@pytest.fixture
async def harness() -> AsyncIterator[FakeHarness]:
    harness = FakeHarness()
    yield harness
    await harness.close()


class TestConformance(conformance.RuntimeConformance, workspace_conformance.WorkspaceConformance):
    pass
