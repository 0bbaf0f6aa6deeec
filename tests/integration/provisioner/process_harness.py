"""The process runtime in a folder, for tests of what it starts."""

from pathlib import Path
from typing import Any

from unit.provisioner import conformance
from unit.provisioner.conformance import new_key

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.process import runtime as process
from tinkwell.provisioner.runtime.process.account import Account
from tinkwell.provisioner.state_dir import state_dir


class ProcessHarness:
    """A runtime in a folder, which starts runs as another account if one is given."""

    def __init__(self, path: Path, account: Account | None = None) -> None:
        self._account = account
        self.images = path / "images"
        self.add_image("shell", '#!/bin/sh\nexec /bin/sh -c "$1"\n')
        self.add_image("broken", "#!/no/such/interpreter\n")
        self.directory = state_dir.StateDir.open(path / "state")
        self.files = path / "files" if account is None else self.directory.path / "workflows"
        self.runtime = process.ProcessRuntime(self.directory, self.images, account=account)

    def add_image(self, name: str, text: str, *, file: str = "run") -> None:
        entry_point = self.images / name / file
        entry_point.parent.mkdir(parents=True, exist_ok=True)
        entry_point.write_text(text)
        entry_point.chmod(0o755)

    async def restart(self) -> None:
        await self.runtime.close()
        self.directory.close()
        self.directory = state_dir.StateDir.open(self.directory.path)
        self.runtime = process.ProcessRuntime(self.directory, self.images, account=self._account)

    def spec(self, key: RunKey, program: str, **fields: Any) -> port.RunSpec:
        return self.spec_of(key, image="registry.example/shell:v1", command=(str(program),), **fields)

    def spec_without_image(self, key: RunKey) -> port.RunSpec:
        return self.spec_of(key, image="absent")

    def spec_without_entry_point(self, key: RunKey) -> port.RunSpec:
        return self.spec_of(key, image="broken")

    def spec_with_entry_point(self, key: RunKey, *command: str) -> port.RunSpec:
        self.add_image("shell", '#!/bin/sh\necho other "$@"\n', file="bin/other")
        return self.spec_of(key, image="shell", entrypoint="/bin/other", command=command)

    def spec_of(self, key: RunKey, **fields: Any) -> port.RunSpec:
        return conformance.spec_of(self.runtime, self.files, key, **fields)

    async def close(self) -> None:
        for key in [key for kind in RunKind for key in await self.runtime.held(kind)]:
            run = await self.runtime.find(key)
            assert run is not None
            await run.remove()
        await self.runtime.close()
        self.directory.close()


def pid_in(harness: ProcessHarness, key: RunKey, name: str) -> int:
    return int((harness.directory.run_dir(key) / name).read_text().split()[1])


def is_alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


async def start_waiting(harness: ProcessHarness, script: str) -> tuple[RunKey, port.Run]:
    """Start a script that says when it is ready."""
    key = new_key()
    run = await harness.runtime.start(harness.spec(key, script))
    assert await conformance.first_line(run) == "ready"
    return key, run
