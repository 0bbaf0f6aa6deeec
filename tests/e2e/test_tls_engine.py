"""An engine by TLS: real containers of a real engine, which lets nobody in without a certificate."""

import asyncio
import contextlib
import hashlib
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
import trustme
from e2e import tls_engine
from e2e.tls_engine import TlsEngine
from integration.provisioner import engine_image

from support.waiting import eventually
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.docker import runtime as docker
from tinkwell.provisioner.runtime.docker import setting
from tinkwell.provisioner.runtime.docker.connection import connection
from tinkwell.provisioner.state_dir import state_dir

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300)]

SECONDS = 60.0
MEBIBYTE = b"0123456789abcdef" * 65_536


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tls() -> AsyncIterator[TlsEngine]:
    # Where containers are not run at all, a second engine is not either.
    with engine_image.engine_or_skip():
        pass
    # Of a short path, since sockets are in it.
    folder = Path(tempfile.mkdtemp(prefix="tw-"))
    try:
        async with tls_engine.running(folder) as engine:
            with contextlib.closing(connection.open_client(_settings(engine), connections=2, answer_seconds=60)) as own:
                repository, _, tag = engine_image.IMAGE.partition(":")
                own.import_image_from_data(engine_image.file_system(), repository=repository, tag=tag)
            yield engine
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[state_dir.StateDir]:
    with contextlib.closing(state_dir.StateDir.open(tmp_path)) as directory:
        yield directory


def _settings(engine: TlsEngine) -> setting.DockerSettings:
    return setting.DockerSettings(host=engine.url, cert_dir=engine.certs)


async def connect(directory: state_dir.StateDir, settings: setting.DockerSettings) -> docker.DockerRuntime:
    async with asyncio.timeout(SECONDS):
        return await docker.DockerRuntime.connect(directory, concurrency=2, fed_concurrency=2, settings=settings)


@pytest.mark.parametrize("answer_bytes", [0, 100])
async def test_input_arrives_whole_and_ends(directory: state_dir.StateDir, tls: TlsEngine, answer_bytes: int) -> None:
    key = RunKey(RunKind.RELEASE, str(uuid.uuid4()), str(uuid.uuid4()), 1)
    spec = port.RunSpec(
        key=key,
        image=engine_image.IMAGE,
        # What is said behind it shows that the input has an end, and when.
        command=("/bin/sh", "-c", "sha256sum; echo ended >&2"),
        stdin=MEBIBYTE,
        answer_bytes=answer_bytes,
    )
    runtime = await connect(directory, _settings(tls))
    try:
        run = await runtime.start(spec)
        async with asyncio.timeout(SECONDS):
            assert (await run.wait()).code == 0
            lines = [line.text async for line in run.lines()]
        await eventually(run.was_fed)
        said = [(await run.answer()).decode().strip(), *lines] if answer_bytes else lines
        assert sorted(said) == sorted([f"{hashlib.sha256(MEBIBYTE).hexdigest()}  -", "ended"])
        await run.remove()
        assert await runtime.held(RunKind.RELEASE) == frozenset()
    finally:
        await runtime.close()


async def test_without_a_certificate_of_its_authority_nobody_is_let_in(
    directory: state_dir.StateDir, tls: TlsEngine, tmp_path: Path
) -> None:
    stranger = trustme.CA().issue_cert("tinkwell@example.com")
    certs = shutil.copytree(tls.certs, tmp_path / "certs")
    stranger.cert_chain_pems[0].write_to_path(certs / "cert.pem")
    stranger.private_key_pem.write_to_path(certs / "key.pem")
    with pytest.raises(port.RunError) as refused:
        await connect(directory, setting.DockerSettings(host=tls.url, cert_dir=certs))
    assert refused.value.reason is port.Reason.UNAVAILABLE
