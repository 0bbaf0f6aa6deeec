"""When the certificates of the port for Tinkerbell's tools are told."""

import asyncio
from pathlib import Path
from typing import cast

import pytest
import trustme
from starlette.requests import Request

from tinkwell.server.http import certificate

# Who asks makes no difference.
ANYBODY = cast("Request", None)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "cert.pem"
    trustme.CA().cert_pem.write_to_path(path)
    return path


async def test_who_asks_too_early_waits_until_the_port_answers(bundle: Path) -> None:
    serves = asyncio.Event()
    asking = asyncio.ensure_future(certificate.Bundle(bundle, serves).answer(ANYBODY))
    await asyncio.sleep(0)
    assert not asking.done()
    serves.set()
    answer = await asking
    assert answer.status_code == 200
    assert b"BEGIN CERTIFICATE" in bytes(answer.body)


async def test_who_has_waited_for_long_is_told_that_the_port_does_not_answer_with_the_certificates(
    bundle: Path,
) -> None:
    # The tools break down without them, and do not look at the status.
    answer = await certificate.Bundle(bundle, asyncio.Event(), patience_seconds=0.01).answer(ANYBODY)
    assert answer.status_code == 503
    assert b"BEGIN CERTIFICATE" in bytes(answer.body)
