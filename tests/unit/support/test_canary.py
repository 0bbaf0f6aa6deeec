"""Canaries are found wherever they are."""

import base64
import os
import time
from pathlib import Path

import pytest

from support import canary

MARK = canary.named("here")


@pytest.mark.parametrize(
    "content",
    [
        f"password={MARK}\n".encode(),
        b"\x00\xff" + MARK.encode() + b"\x00",
        *(base64.b64encode(b"-" * before + MARK.encode() + b"!") for before in range(3)),
    ],
)
def test_a_file_with_a_canary_is_found_also_one_that_claims_to_be_old(tmp_path: Path, content: bytes) -> None:
    since = time.time()
    held = tmp_path / "below" / "held"
    held.parent.mkdir()
    held.write_bytes(content)
    os.utime(held, (0, 0))
    (tmp_path / "other").write_text("password=kanarien")
    assert canary.files_with(tmp_path, MARK, since=since) == [str(held)]


def test_what_was_there_before_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "held").write_text(MARK)
    assert canary.files_with(tmp_path, MARK, since=time.time() + 3600) == []
