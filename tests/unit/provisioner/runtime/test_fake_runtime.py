"""The fake runtime is a runtime."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from unit.provisioner import conformance
from unit.provisioner.conformance import Program
from unit.provisioner.fake_runtime import FakeRun, FakeRuntime, FakeWorld

from tinkwell.client.workflow.model import LogStream
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.runtime import port


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

    def spec(self, key: RunKey, program: Program, *, environment: tuple[str, ...] = ()) -> port.RunSpec:
        return _spec(key, command=(str(program),), environment=environment)

    def spec_without_image(self, key: RunKey) -> port.RunSpec:
        return _spec(key, image="absent")

    def spec_without_entry_point(self, key: RunKey) -> port.RunSpec:
        return _spec(key, image="broken")

    def _perform(self, run: FakeRun) -> None:
        task = asyncio.ensure_future(self._play(run))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _play(self, run: FakeRun) -> None:
        resumed = self.resumed.setdefault(run.key.owner, asyncio.Event())
        files = self.world.files.setdefault(run.key.owner, {})
        environment = run.spec.environment_in("/workflow")
        match run.spec.command[0]:
            case Program.GREET:
                await run.write("one\n")
                await run.write("two\n", LogStream.STDERR)
                await run.write("three, unended")
                await run.exit(0)
            case Program.FAIL:
                await run.write("broken\n", LogStream.STDERR)
                await run.exit(3)
            case Program.WAIT:
                await run.write("waiting\n")
                await resumed.wait()
                await run.write("resumed\n")
                await run.exit(7)
            case Program.RESUME:
                resumed.set()
                await run.exit(0)
            case Program.COUNT:
                files["count"] = files.get("count", "") + "x\n"
                await run.write(files["count"])
                await run.exit(0)
            case Program.SHOUT:
                await run.write((b"0123456789" * 7 + b"\n") * 160_000)
                await run.exit(4)
            case Program.MUMBLE:
                await run.write(b"caf\303\251 \377 \000 end\n")
                await run.exit(0)
            case Program.LONG:
                await run.write("z" * 40_000 + "\n")
                await run.exit(0)
            case Program.TELL:
                who, attempt = environment["TINKWELL_WORKER_ID"], environment["TINKWELL_ATTEMPT"]
                hook = f" {environment['TINKWELL_HOOK']}" if run.key.hook else ""
                await run.write(f"{environment['GREETING']} from {who}, attempt {attempt}{hook}\n")
                await run.exit(0)

    async def close(self) -> None:
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def _spec(
    key: RunKey, *, image: str = "fake", command: tuple[str, ...] = (), environment: tuple[str, ...] = ()
) -> port.RunSpec:
    return port.RunSpec(
        key=key,
        worker_id="machine-1",
        task_name="task",
        action_name="action",
        image=image,
        command=command,
        environment=environment,
    )


@pytest.fixture
async def harness() -> AsyncIterator[FakeHarness]:
    harness = FakeHarness()
    yield harness
    await harness.close()


class TestConformance(conformance.RuntimeConformance):
    pass
