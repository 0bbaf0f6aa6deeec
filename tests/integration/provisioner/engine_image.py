"""The image that tests of containers use: busybox alone, made on the spot, so that no registry is needed."""

import contextlib
import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from tinkwell.provisioner.runtime.docker import setting
from tinkwell.provisioner.runtime.docker.connection import adapter
from tinkwell.provisioner.runtime.docker.connection import connection as link

IMAGE = "tinkwell-test/busybox:latest"
BUSYBOX = Path("/bin/busybox")


@contextlib.contextmanager
def engine_or_skip() -> Iterator[docker.APIClient]:
    """Yield a client of the engine with the image on it; skips the test where there is no engine."""
    try:
        client = link.open_client(setting.DockerSettings(), connections=4, answer_seconds=10)
    except (adapter.NotReached, docker.errors.DockerException) as error:
        if os.environ.get("TINKWELL_TEST_DOCKER") == "required":
            raise
        pytest.skip(f"no Docker Engine answers: {error}")
    with contextlib.closing(client):
        _provide_image(client)
        yield client


def _provide_image(client: docker.APIClient) -> None:
    try:
        client.inspect_image(IMAGE)  # type: ignore[no-untyped-call]
    except docker.errors.ImageNotFound:
        if not BUSYBOX.exists():
            pytest.skip(
                f"the test image is not there, and cannot be made: {BUSYBOX} is missing (package busybox-static)"
            )
        repository, _, tag = IMAGE.partition(":")
        client.import_image_from_data(file_system(), repository=repository, tag=tag)


def file_system() -> bytes:
    """Return a tar of busybox and a link for each of its commands."""
    buffer = io.BytesIO()
    listed = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True, timeout=10)
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(BUSYBOX, "bin/busybox")
        for command in sorted(set(listed.stdout.split()) - {"busybox"}):
            link = tarfile.TarInfo(f"bin/{command}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        for name in ("etc", "tmp"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o777
            tar.addfile(folder)
    return buffer.getvalue()
