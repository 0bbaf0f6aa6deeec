"""What is tested, and where it runs: a folder or an image of processes, or an image of a Docker Engine."""

import contextlib
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from tinkwell.core.release.protocol import answer
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.schema.check import Schemas
from tinkwell.provisioner.resource import folder
from tinkwell.provisioner.resource.caller import Caller
from tinkwell.provisioner.resource.finding import Finding
from tinkwell.provisioner.resource.harness import Harness
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.docker.runtime import DockerRuntime
from tinkwell.provisioner.runtime.process.runtime import ProcessRuntime
from tinkwell.provisioner.state_dir import state_dir

_PREFIX = "tinkwell-resource-test-"
_RESOURCE = "tested"


async def test(
    image: str,
    config: JsonObject,
    *,
    then: JsonObject | None = None,
    plugs: Mapping[str, folder.Plug] | None = None,
    images: Path | None = None,
) -> list[Finding]:
    """Try out an image, or a folder with an executable `run`, and return what was found out.

    `images` is the folder of images of the process runtime; without it an image is one of the Docker Engine. Raises
    `port.RunError` where that does not answer, and `sandbox.errors.SandboxError`.
    """
    # Containers may leave files of other users there.
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name:
        scratch = Path(name).resolve()
        async with _running(image, images, scratch) as (runtime, tested), _checking() as schemas:

            def find_mounts(init: answer.InitAnswer) -> dict[str, port.Mount]:
                return folder.mounts(init.plugs, plugs or {}, scratch / "plugs")

            caller = Caller(runtime=runtime, image=tested, name=_RESOURCE, mounts={}, owner=str(uuid.uuid4()))
            return await Harness(caller, find_mounts, config, schemas=schemas, then=then).run()


@contextlib.asynccontextmanager
async def _checking() -> AsyncIterator[Schemas]:
    schemas = Schemas()
    try:
        yield schemas
    finally:
        await schemas.close()


@contextlib.asynccontextmanager
async def _running(image: str, images: Path | None, scratch: Path) -> AsyncIterator[tuple[port.Runtime, str]]:
    """Open the runtime, and say under which name it has the image."""
    with contextlib.closing(state_dir.StateDir.open(scratch / "state")) as directory:
        runtime: port.Runtime
        path = Path(image)
        if images is not None:
            runtime, name = ProcessRuntime(directory, images), image
        elif path.is_dir():
            name = path.resolve().name.lower()
            (scratch / "images").mkdir()
            (scratch / "images" / name).symlink_to(path.resolve(), target_is_directory=True)
            runtime = ProcessRuntime(directory, scratch / "images")
        else:
            runtime, name = await DockerRuntime.connect(directory, concurrency=1, fed_concurrency=1), image
        try:
            yield runtime, name
        finally:
            await runtime.close()
