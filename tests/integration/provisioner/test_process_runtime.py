"""The process runtime: the conformance suite, and what is its own."""

import pytest
from unit.provisioner import conformance

from tinkwell.provisioner import state
from tinkwell.provisioner.runtime import port, process


class ProcessHarness:
    def __init__(self, path):
        self.images = path / "images"
        self.add_image("shell", '#!/bin/sh\nexec /bin/sh -c "$1"\n')
        self.add_image("broken", "#!/no/such/interpreter\n")
        self.directory = state.StateDir.open(path / "state")
        self.runtime = process.ProcessRuntime(self.directory, self.images)

    def add_image(self, name, text):
        entry_point = self.images / name / "run"
        entry_point.parent.mkdir(parents=True)
        entry_point.write_text(text)
        entry_point.chmod(0o755)

    async def restart(self):
        await self.runtime.close()
        self.directory.close()
        self.directory = state.StateDir.open(self.directory.path)
        self.runtime = process.ProcessRuntime(self.directory, self.images)

    def spec(self, key, program, *, environment=()):
        return self.spec_of(key, image="registry.example/shell:v1", command=(str(program),), environment=environment)

    def spec_without_image(self, key):
        return self.spec_of(key, image="absent")

    def spec_without_entry_point(self, key):
        return self.spec_of(key, image="broken")

    def spec_of(self, key, **fields):
        return port.RunSpec(key=key, worker_id="machine-1", task_name="task", action_name="action", **fields)

    async def close(self):
        for key in await self.runtime.held():
            run = await self.runtime.find(key)
            await run.remove()
        await self.runtime.close()
        self.directory.close()


@pytest.fixture
async def harness(tmp_path):
    harness = ProcessHarness(tmp_path)
    yield harness
    await harness.close()


class TestConformance(conformance.RuntimeConformance):
    pass
