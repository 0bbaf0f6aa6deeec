"""Images that run Python, made on the spot from this interpreter, so that no registry is needed."""

import functools
import io
import platform
import re
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import docker
import docker.errors
from integration.provisioner import engine_image

BASE = f"tinkwell-test/python:{platform.python_version()}"
_STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))
_LEFT_OUT = {"test", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "site-packages", "dist-packages"}


def build(engine: docker.APIClient, folder: Path, tag: str) -> None:
    """Build the image of a folder with a Dockerfile, whose base has Python and a shell."""
    provide_base(engine)
    with context(folder) as tar:
        for told in engine.build(
            fileobj=tar, custom_context=True, tag=tag, buildargs={"BASE": BASE}, rm=True, decode=True
        ):
            if "error" in told:
                raise AssertionError(f"{tag} cannot be built: {told['error']}")


def context(folder: Path) -> io.BytesIO:
    """Return a tar of a folder, in which what is linked is there as a file, such as what examples share."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", dereference=True) as tar:
        tar.add(folder, "", filter=lambda info: None if "__pycache__" in info.name else info)
    buffer.seek(0)
    return buffer


def provide_base(engine: docker.APIClient) -> None:
    """Import the base where the engine does not have it."""
    try:
        engine.inspect_image(BASE)  # type: ignore[no-untyped-call]
    except docker.errors.ImageNotFound:
        repository, _, tag = BASE.rpartition(":")
        engine.import_image_from_data(_file_system(), repository=repository, tag=tag)


@functools.cache
def _file_system() -> bytes:
    """Return a tar of busybox, of the interpreter and its standard library where they are here, and what they load."""
    interpreter = Path(sys.executable).resolve()
    extensions = sorted((_STANDARD_LIBRARY / "lib-dynload").glob("*.so"))
    buffer = io.BytesIO(engine_image.file_system())
    with tarfile.open(fileobj=buffer, mode="a") as tar:
        for file in (interpreter, *sorted(_libraries(interpreter, *extensions))):
            tar.add(file.resolve(), str(file))
        tar.add(_STANDARD_LIBRARY, filter=_needed)
        _link(tar, "usr/bin/python3", str(interpreter))
        _link(tar, "usr/bin/env", "/bin/env")
    return buffer.getvalue()


def _needed(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    name = Path(info.name).name
    return None if name in _LEFT_OUT or name.startswith("config-") else info


def _libraries(*programs: Path) -> set[Path]:
    """Return the shared libraries that programs load, by the names under which they are looked for."""
    listed = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True, timeout=60).stdout
    return {Path(found) for found in re.findall(r"(/\S+) \(0x", listed)}


def _link(tar: tarfile.TarFile, name: str, target: str) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    tar.addfile(info)
