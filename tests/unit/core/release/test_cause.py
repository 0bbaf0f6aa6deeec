"""Why an operation ended is told in a form that can be stored, whatever is said."""

import json

import pytest

from tinkwell.core.release import cause
from tinkwell.core.release.cause import Reason
from tinkwell.core.secret.mask import Masker

MAX_BYTES = 16 * 1024


@pytest.mark.parametrize("character", ["x", "é", "😀", "\x01", '"', "\\", "…", "\0"])
def test_a_message_is_cut_by_what_it_takes_as_json(character: str) -> None:
    text = cause.text(Reason.NODE_FAILED, character * 20_000, path="x" * 1000)
    told = json.loads(text)
    assert len(text.encode()) < MAX_BYTES
    assert len(told["message"]) == cause.MAX_MESSAGE_CHARACTERS or len(text.encode()) > MAX_BYTES * 0.7
    assert told["message"].endswith("…")
    assert "\0" not in told["message"]


def test_other_messages_stay_as_they_are() -> None:
    told = {"reason": "TIMEOUT", "message": 'it is "late" é\n'}
    assert json.loads(cause.text(Reason.TIMEOUT, told["message"])) == told


def test_a_message_that_masks_make_longer_is_cut_as_well() -> None:
    text = cause.text(Reason.NODE_FAILED, "秘密x" * 3000, path="shop:a")
    masked = cause.with_message(text, Masker(["秘密"]).mask)
    assert len(masked.encode()) < MAX_BYTES
    assert json.loads(masked)["message"].startswith("•••x•••x")
    assert json.loads(masked)["path"] == "shop:a"
