"""What is told of an event: why it has failed, and what was said while it was heard."""

import logging

import pytest

from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.provisioner.release.lifecycle import saying
from tinkwell.provisioner.release.lifecycle.saying import Dropped, Line, Printed, Warned

WHERE = {"release": "shop", "chart": "shop.bar", "file": "charts/bar/ext/lua/init.lua"}


def printed(text: str) -> Printed:
    return Printed(release="shop", chart="shop", event=Event.READY, file="init.lua", line=3, text=text)


def message(*said: Line, failure: str = "", room: int = 100) -> str:
    return saying.message(said, failure=failure, max_characters=room)


def test_what_was_said_is_told_line_by_line_behind_the_failure() -> None:
    warned = Warned(release="shop", chart="shop", event=Event.READY, file="init.lua", line=3, text="no disk")
    dropped = Dropped(release="shop", chart="shop", event=Event.READY, file="init.lua", line=3, text="values.a")
    assert message() == ""
    assert message(failure="it failed") == "it failed"
    assert message(printed("a\nb"), warned, dropped, failure="it failed", room=200).splitlines() == [
        *("it failed", "a", "b", "the handler of ready warns: no disk", "its change of values.a at ready is dropped")
    ]


@pytest.mark.parametrize("room", range(60, 130))
def test_what_has_no_room_is_counted(room: int) -> None:
    given = [printed(f"line {number}") for number in range(20)]
    found = message(*given, failure="it failed", room=room)
    first, *lines, last = found.splitlines()
    assert len(found) <= room
    assert first == "it failed"
    assert lines == [f"line {number}" for number in range(len(lines))]
    assert last == f"… and {20 - len(lines)} more lines, in the provisioner's log"


def test_what_has_several_lines_is_told_whole_or_not_at_all() -> None:
    assert message(printed("a\r\nb\x0bc"), failure="it failed") == "it failed\na\r\nb\x0bc"
    assert message(printed("first"), printed("a\n" * 60)) == "first\n… and 61 more lines, in the provisioner's log"


def test_a_failure_that_has_no_room_is_told_alone_and_a_line_that_has_none_is_counted() -> None:
    assert message(printed("a"), failure="f" * 200) == "f" * 200  # it is cut where it is stored
    assert message(printed("a"), failure="f" * 99) == "f" * 99
    assert message(printed("a" * 200)) == "… and 1 more line, in the provisioner's log"
    assert message(printed("a" * 100)) == "a" * 100


def test_all_of_it_goes_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    where = {**WHERE, "event": None, "line": 0}
    saying.log(printed("hello"))
    saying.log(Warned(text="so", **where))  # type: ignore[arg-type]
    saying.log(Dropped(text="values.a", **{**where, "event": Event.READY, "line": 7}))  # type: ignore[arg-type]
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("INFO", "a script says"),
        ("WARNING", "a script warns"),
        ("WARNING", "a change is dropped"),
    ]
    places = [getattr(record, "script", getattr(record, "handler", "")) for record in caplog.records]
    assert places == ["", WHERE["file"], f"{WHERE['file']}:7"]
