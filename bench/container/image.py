"""An image of busybox alone, made on the spot, so that no registry is needed."""

import asyncio
import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

NAME = "tinkwell-bench/busybox:latest"
COMMAND = ("/bin/busybox", "echo", "done")
_BUSYBOX = Path("/bin/busybox")
_SECONDS = 60


class NotPossibleError(Exception):
    """There is no engine, no `docker`, or no busybox; the text says which."""


async def provide(name: str = NAME, *, programs: Mapping[str, str] | None = None, changes: Sequence[str] = ()) -> None:
    """Put the image on the engine, anew each time. Raises `NotPossibleError`.

    `programs` are further files by their paths, and `changes` what a Dockerfile would say of the image.
    """
    file_system = _file_system(programs or {})
    options = [part for change in changes for part in ("--change", change)]
    try:
        importing = await asyncio.create_subprocess_exec(
            *("docker", "import", *options, "-", name),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError:
        raise NotPossibleError("there is no program docker") from None
    async with asyncio.timeout(_SECONDS):
        _, said = await importing.communicate(file_system)
    if importing.returncode:
        raise NotPossibleError(said.decode(errors="replace").strip())


def _file_system(programs: Mapping[str, str]) -> bytes:
    if not _BUSYBOX.exists():
        raise NotPossibleError(f"{_BUSYBOX} is missing (package busybox-static)")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(_BUSYBOX, "bin/busybox")
        for path, text in programs.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(text.encode()), 0o755
            tar.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()
