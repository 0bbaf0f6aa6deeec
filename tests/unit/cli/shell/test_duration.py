"""Durations on the command line."""

import pytest
import rich_click as click

from tinkwell.cli.shell import duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("500ms", 0.5),
        ("1.5h", 5400),
        ("0s", 0),
        (" 1m ", 60),
    ],
)
def test_a_duration_is_a_sum_of_numbers_with_units(text: str, seconds: float) -> None:
    assert duration.Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize(
    "text", ["", "m", "5", "5x", "-5m", "5m-1s", "m5", "1e3s", "٥m", "5 m", "40000d", "inf", "nan"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        duration.Duration().convert(text, None, None)


def test_a_bare_number_is_answered_with_the_units_it_could_have() -> None:
    with pytest.raises(click.BadParameter, match="write 5s, 5m, 5h or 5d"):
        duration.Duration().convert("5", None, None)


@pytest.mark.parametrize(
    ("seconds", "text"), [(-3, "0s"), (59.9, "59s"), (60, "1m00s"), (3599, "59m59s"), (7260, "2h01m")]
)
def test_a_length_of_time_is_short(seconds: float, text: str) -> None:
    assert duration.show(seconds) == text
