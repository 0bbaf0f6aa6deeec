"""What of the stream is held until the database's reader reaches it."""

from tinkwell.server.log.relay.broker import Letter
from tinkwell.server.log.relay.window import Window


def letter(after: int, through: int, *, history_id: str = "h") -> Letter:
    return Letter(history_id, after, through, b"x" * 1_000)


def filled(*letters: Letter, limit_bytes: int = 100_000) -> Window:
    window = Window(limit_bytes=limit_bytes)
    for one in letters:
        window.add(one)
    return window


def test_one_who_has_all_before_the_letters_may_join() -> None:
    window = filled(letter(10, 20), letter(20, 30))
    assert not window.joins(history_id="h", released=9)
    assert window.joins(history_id="h", released=10)


def test_letters_that_were_passed_are_forgotten_but_for_the_newest() -> None:
    window = filled(letter(10, 20), letter(20, 30))
    assert window.joins(history_id="h", released=40)
    assert [one.after for one in window.take()] == [20]
    assert not window.joins(history_id="h", released=40)


def test_another_history_is_not_joined() -> None:
    assert not filled(letter(10, 20, history_id="other")).joins(history_id="h", released=10)


def test_a_letter_after_a_break_or_of_another_history_replaces_the_others() -> None:
    assert [one.after for one in filled(letter(10, 20), letter(21, 30)).take()] == [21]
    assert [one.after for one in filled(letter(10, 20), letter(20, 30, history_id="other")).take()] == [20]


def test_a_letter_that_overlaps_the_others_does_not() -> None:
    assert len(filled(letter(10, 20), letter(15, 30)).take()) == 2


def test_the_oldest_letters_give_way_at_the_bound_and_the_newest_stays() -> None:
    letters = [letter(revision, revision + 1) for revision in range(10)]
    assert [one.after for one in filled(*letters, limit_bytes=5_000).take()] == [7, 8, 9]
    assert [one.after for one in filled(*letters, limit_bytes=1).take()] == [9]
