"""Who is let in, and who makes room."""

import pytest

from tinkwell.server.http.admission import Admission, Bounds, Full


def admission(total: int = 4, per_place: int = 2) -> Admission[str, str]:
    return Admission(Bounds(total=total, per_place=per_place))


def enter(room: Admission[str, str], *connections: str) -> list[str | None]:
    """Let connections in, each from the place that its first letter names; p is a proxy's."""
    return [room.enter(name, None if name[0] == "p" else name[0]) for name in connections]


def test_as_many_come_in_as_there_is_room_for() -> None:
    room = admission()
    assert enter(room, "a1", "a2", "b1", "b2") == [None] * 4
    assert list(room) == ["a1", "a2", "b1", "b2"]


@pytest.mark.parametrize(
    ("connections", "left"),
    [
        (("a1", "a2", "a3"), "a1"),
        (("b1", "a1", "a2", "a3"), "a1"),
        (("b1", "a1", "a2", "c1", "a3"), "a1"),
        (("b1", "a1", "c1", "a2", "d1"), "b1"),
        (("p1", "p2", "p3", "p4", "a1"), "p1"),
        (("a1", "p1", "p2", "p3", "p4"), "a1"),
    ],
)
def test_the_one_that_has_waited_for_longest_makes_room_of_its_own_place_first(
    connections: tuple[str, ...], left: str
) -> None:
    room = admission()
    *before, last = connections
    assert enter(room, *before) == [None] * len(before)
    assert enter(room, last) == [left]
    assert set(room) == {*connections} - {left}


def test_who_is_busy_stays_and_waits_from_then_on() -> None:
    room = admission()
    enter(room, "a1", "a2")
    room.work("a1")
    assert enter(room, "a3") == ["a2"]
    room.wait("a1")
    assert enter(room, "a4") == ["a3"]
    assert set(room) == {"a1", "a4"}


def test_nobody_comes_in_where_all_are_busy_and_others_do() -> None:
    room = admission()
    enter(room, "a1", "a2", "p1")
    for name in ("a1", "a2", "p1"):
        room.work(name)
    with pytest.raises(Full):
        enter(room, "a3")
    assert enter(room, "b1") == [None]
    room.work("b1")
    for name in ("b2", "p2"):
        with pytest.raises(Full):
            enter(room, name)
    assert set(room) == {"a1", "a2", "p1", "b1"}


def test_who_has_left_has_left_its_place() -> None:
    room = admission()
    for _ in range(3):
        enter(room, "a1", "a2", "p1", "p2")
        room.work("a2")
        room.work("p1")
        for name in ("a1", "a2", "p1", "p2", "p2"):
            room.leave(name)
        # What is told of it later changes nothing.
        room.wait("a1")
        room.work("a1")
    assert list(room) == []
    assert enter(room, "a3", "a4", "b1", "b2") == [None] * 4


@pytest.mark.parametrize(
    ("files", "total", "per_place"),
    [(1_000_000, 1_000, 100), (4_000, 1_000, 100), (1_024, 256, 100), (256, 64, 32), (8, 2, 1), (1, 1, 1)],
)
def test_most_files_of_a_process_are_left_and_most_of_the_others_places(files: int, total: int, per_place: int) -> None:
    assert Bounds().within(files) == Bounds(total=total, per_place=per_place)
