"""The page about the protocol says what is so."""

import json
import re

import pytest

from support import page
from tinkwell.core.release.decision import view
from tinkwell.core.release.manifest import reader
from tinkwell.core.release.protocol import answer, request

PAGE = page.read("reference/resource-protocol.md")
BLOCKS = page.blocks(PAGE + page.read("how-to/resource-image.md"))
CALLER = request.Caller(name="n", type="t", workspace="/w", release="r", operation_id="o")


def texts(use: str) -> list[str]:
    return [block.text for block in BLOCKS if block.use == use]


def table(first: str) -> dict[str, str]:
    """Return a table of the page by what stands in its first column, which is named so."""
    rows = PAGE.split(f"| {first} |", 1)[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip().strip("|").split("|", 1)] for row in rows]
    return {cell[0].strip("`"): cell[1] for cell in cells}


def keys(document: bytes) -> set[str]:
    return set(json.loads(document))


def test_its_input_is_what_an_image_is_given() -> None:
    (shown,) = texts("input")
    assert keys(shown.encode()) == keys(CALLER.state({}))
    assert json.loads(shown)["version"] == request.VERSION


def test_its_table_of_calls_has_the_fields_of_each() -> None:
    rows = table("call")
    assert set(re.findall(r"`(\w+)`", rows["init"])) == keys(CALLER.init())
    assert set(re.findall(r"`(\w+)`", rows["state"])) >= {"config"} == keys(CALLER.state({})) - keys(CALLER.init())
    assert keys(CALLER.action({}, None)) - keys(CALLER.state({})) == {"staleState"}
    assert keys(CALLER.destroy({}, None)) - keys(CALLER.state({})) == {"state"}
    assert "`staleState`" in rows["an action"]
    assert "`state`" in rows["destroy"]


def test_its_answers_are_answers() -> None:
    (shown,) = texts("init")
    init = answer.parse_init(shown.encode())
    assert (init.state.args, init.extension.poll_seconds) == (("state",), 2)
    valid, stale = (answer.parse_state(text.encode()) for text in texts("state"))
    assert isinstance(valid, answer.Valid)
    assert isinstance(stale, answer.Stale)
    assert [action.name for action in stale.actions] == ["resize", "tell"]


def test_its_wrong_answer_is_refused_in_these_words() -> None:
    (shown,) = texts("wrong state")
    with pytest.raises(answer.WrongAnswer) as caught:
        answer.parse_state(shown.encode())
    assert f"\n    {str(caught.value).partition('; it answered')[0]}\n" in PAGE


def test_its_tables_have_all_fields_of_init_and_of_our_own() -> None:
    assert set(table("field")) == set(answer._INIT_FIELDS)
    assert set(table("field of `tinkwell`")) == set(answer._EXTENSION_FIELDS)


def test_its_timeouts_are_those_that_count() -> None:
    seconds = {"state": view.STATE_SECONDS, "action": view.ACTION_SECONDS, "destroy": view.DESTROY_SECONDS}
    for name, number in seconds.items():
        assert f"`{name}` ({number})" in table("field of `tinkwell`")["timeouts"]


def test_its_manifest_is_one() -> None:
    (shown,) = texts("manifest")
    assert set(reader.read([("page", shown)]).resources) == {"folder", "note"}
