"""Lines on paper: what becomes of those that are open."""

import sys

import pytest

from tinkwell.cli.shell import log_line

CLEARED = "\r\x1b[K"


def written(capsys: pytest.CaptureFixture[str], *lines: tuple[str, int, str, bool], is_mixed: bool) -> str:
    paper = log_line.Paper(is_mixed=is_mixed)
    for printer, number, text, is_open in lines:
        paper.write(text, place=(printer, number), is_open=is_open)
    paper.end()
    return capsys.readouterr().out


LOST = ("a", 1, "10 %", True), ("a", 1, "20 %", True), ("b", 1, "again", False), ("b", 2, "end", False)
BESIDE = ("a", 1, "10 %", True), ("b", 1, "end", False), ("a", 1, "100 %", False), ("c", 1, "5 %", True)


def test_an_open_line_that_does_not_come_again_is_left_where_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    assert written(capsys, *LOST, is_mixed=False) == "20 %\nagain\nend\n"


def test_of_lines_that_are_mixed_an_open_one_is_left_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert written(capsys, *LOST, is_mixed=True) == "again\nend\n20 %\n"
    assert written(capsys, *BESIDE, is_mixed=True) == "end\n100 %\n5 %\n"


def test_on_a_terminal_an_open_line_is_written_over(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = written(capsys, *LOST, is_mixed=False)
    assert shown == f"{CLEARED}10 %{CLEARED}20 %{CLEARED}20 %\nagain\nend\n"
    shown = written(capsys, *BESIDE, is_mixed=True)
    assert shown == f"{CLEARED}10 %{CLEARED}end\n{CLEARED}100 %\n{CLEARED}5 %{CLEARED}5 %\n"
