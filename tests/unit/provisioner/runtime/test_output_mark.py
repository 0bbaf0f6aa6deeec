"""Numbers of lines where the oldest may be forgotten."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import output, output_mark
from tinkwell.provisioner.state_dir import state_dir

FIRST, LATER = "2026-01-01T00:00:00.000000000Z", "2026-01-01T00:00:09.000000000Z"


async def test_lines_are_numbered_from_one_as_long_as_the_first_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a.1"
    for each in (output_mark.Mark(path), output_mark.Mark(path)):
        assert await each.begin(FIRST) == 0
        assert await each.begin(FIRST) == 0


@pytest.mark.parametrize("is_adopted", [True, False])
async def test_after_the_first_was_forgotten_no_number_is_given_twice(tmp_path: Path, is_adopted: bool) -> None:
    first = output_mark.Mark(tmp_path / "a.1")
    await first.begin(FIRST)
    for number in range(1, 2 * output_mark.RESERVE + 5):
        await first.reserve(number)
    reader = output_mark.Mark(tmp_path / "a.1") if is_adopted else first
    base = await reader.begin(LATER)
    assert base >= 2 * output_mark.RESERVE + 4
    # Whoever reads the same again numbers it as this one does.
    assert await output_mark.Mark(tmp_path / "a.1").begin(LATER) == base


async def test_numbers_stay_below_what_a_server_takes(tmp_path: Path) -> None:
    reader = output_mark.Mark(tmp_path / "a.1")
    await reader.begin(FIRST)
    await reader.reserve(output.MAX_LINES)
    assert await reader.begin(LATER) == output.MAX_BASE


async def test_a_mark_that_is_damaged_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "a.1").write_text("{}")
    with pytest.raises(OSError, match=r"a.1 is damaged"):
        await output_mark.Mark(tmp_path / "a.1").begin(FIRST)


def test_ids_that_would_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    directory = state_dir.StateDir.open(tmp_path)
    with pytest.raises(state_dir.StateError):
        output_mark.MarkFolder(directory).of(RunKey(RunKind.WORKFLOW, "w", "../a", 1))
    directory.close()


async def test_readers_that_begin_at_once_agree(tmp_path: Path) -> None:
    """Such as one that reports and one that adopts: none may find its own unfinished file gone."""
    for attempt in range(50):
        readers = [output_mark.Mark(tmp_path / f"a.{attempt}") for _ in range(8)]
        assert await asyncio.gather(*(each.begin(FIRST) for each in readers)) == [0] * 8
    assert not list(tmp_path.glob("*.scrap"))  # noqa: ASYNC240


async def test_marks_of_all_kinds_of_runs_are_swept_but_for_those_that_are_there(tmp_path: Path) -> None:
    with contextlib.closing(state_dir.StateDir.open(tmp_path)) as directory:
        marks = output_mark.MarkFolder(directory)
    keys = [RunKey(kind, "o", name, 1) for kind in RunKind for name in (f"{kind}-there", f"{kind}-gone")]
    for key in keys:
        await marks.of(key).begin(FIRST)
        marks.note_fed(key)
    marks.remove_others(marks.names(), frozenset(keys[::2]))
    assert [marks.is_fed(key) for key in keys] == [True, False, True, False]
    assert marks.names() == {"workflow-there.1", "release-there.1"}
    marks.remove(keys[0])
    assert marks.names() == {"release-there.1"}
    assert not marks.is_fed(keys[0])
