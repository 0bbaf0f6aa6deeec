"""What is tested, and where it runs: a folder or an image of processes, or an image of a Docker Engine."""

import asyncio
import contextlib
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path

from tinkwell.core import errors
from tinkwell.core.release.protocol import answer
from tinkwell.core.value import parse
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.schema.check import Schemas
from tinkwell.provisioner.resource import argument, folder
from tinkwell.provisioner.resource.caller import Caller
from tinkwell.provisioner.resource.finding import Finding
from tinkwell.provisioner.resource.harness import Harness
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.docker.runtime import DockerRuntime
from tinkwell.provisioner.runtime.process.runtime import ProcessRuntime
from tinkwell.provisioner.state_dir import state_dir

_PREFIX = "tinkwell-resource-test-"
_RESOURCE = "tested"


async def try_out(
    image: str,
    config: JsonObject,
    *,
    then: JsonObject | None = None,
    plugs: Mapping[str, folder.Plug] | None = None,
    images: Path | None = None,
) -> list[Finding]:
    """Try out an image, or a folder with an executable `run`, and return what was found out.

    `images` is the folder of images of the process runtime; without it an image is one of the Docker Engine. Raises
    `port.RunError` where that does not answer, `errors.InvalidField` for a path at which there is no such folder, and
    `sandbox.errors.SandboxError`.
    """
    # Containers may leave files of other users there.
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name:
        scratch = Path(name)
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
        if images is not None:
            runtime = ProcessRuntime(directory, images)
        elif found := await asyncio.to_thread(argument.find_folder, image):
            image = await asyncio.to_thread(_link, found, scratch / "images")
            runtime = ProcessRuntime(directory, scratch / "images")
        else:
            runtime = await DockerRuntime.connect(directory, concurrency=1, fed_concurrency=1)
        try:
            yield runtime, image
        finally:
            await runtime.close()


def _link(folder: Path, images: Path) -> str:
    """Make a folder of images of the one at a path, and return the image's name."""
    images.mkdir()
    name = folder.name.lower()
    (images / name).symlink_to(folder, target_is_directory=True)
    return name


def parse_plugs(texts: Iterable[str]) -> dict[str, folder.Plug]:
    """Parse plugs such as `files=/srv/files:ro`; raises `errors.InvalidField`."""
    found: dict[str, folder.Plug] = {}
    for text in texts:
        name, _, path = text.partition("=")
        plug = folder.Plug(Path(path.removesuffix(":ro")).absolute(), read_only=path.endswith(":ro"))
        if not name or not path or not plug.path.exists():
            raise errors.InvalidField.of(
                "plug", f"{parse.show(text)} is no plug; write it as NAME=PATH or NAME=PATH:ro, of a path that is there"
            )
        found[name] = plug
    return found
