"""What a plan comes to."""

import dataclasses

import pytest

from tinkwell.core.release.kinds import ResourceStatus
from tinkwell.core.release.manifest.hook import HookEvent
from tinkwell.core.release.preview import summary
from tinkwell.core.release.preview.model import Mark, PlannedHook, Preview, PreviewNode


def preview(marks: str, drift: str | None = None) -> Preview:
    nodes = [PreviewNode(path=f"r{index}", type="t", mark=Mark(mark)) for index, mark in enumerate(marks)]
    return Preview(digest="", revision=1, nodes=nodes, drift=drift)


@pytest.mark.parametrize(
    ("marks", "sentence", "has_changes"),
    [
        ("=~+?-", "1 to change, 1 to create, 1 to remove, 1 decided at run.", True),
        ("==++", "2 to create.", True),
        ("==", "Nothing to change.", False),
        ("?", "1 decided at run.", True),
        ("~!", "1 to change, 1 would fail.", True),
        ("!", "1 would fail.", False),
        ("", "Nothing to change.", False),
    ],
)
def test_the_sentence_counts_what_would_happen(marks: str, sentence: str, has_changes: bool) -> None:
    assert summary.sentence(preview(marks)) == sentence
    assert summary.has_changes(preview(marks)) is has_changes


def test_what_is_left_in_place_does_not_count() -> None:
    left = PreviewNode(path="a", type="t", mark=Mark.ATTENTION, status=ResourceStatus.LEFT)
    found = Preview(digest="", revision=1, nodes=(left,))
    assert summary.sentence(found) == "Nothing to change."
    assert not summary.has_changes(found)
    assert summary.count_failing(found) == 0


def test_drift_has_a_sentence_of_its_own_for_nothing() -> None:
    assert summary.sentence(preview("=", drift="")) == "Nothing has drifted."
    assert summary.sentence(preview("~", drift="ab")) == "1 to change."


def test_hooks_run_where_there_is_nothing_else_to_change() -> None:
    hook = PlannedHook(path="migrate", type="t", event=HookEvent.PRE_UPGRADE)
    alone = dataclasses.replace(preview("="), hooks=(hook,))
    assert summary.sentence(alone) == "1 hook."
    assert summary.has_changes(alone)
    assert summary.sentence(dataclasses.replace(preview("~!"), hooks=(hook, hook))) == (
        "1 to change, 2 hooks, 1 would fail."
    )
