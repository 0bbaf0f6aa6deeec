"""A workflow's tree as nodes, and as it is drawn."""

import io

import pytest
from rich import console
from unit.cli.following import ID, action, at, running, tree, workflow

from tinkwell.cli.shell import display
from tinkwell.cli.shell import outline as shell_outline
from tinkwell.cli.workflow import outline
from tinkwell.cli.workflow import tree as workflow_tree
from tinkwell.client import LogLine
from tinkwell.core.event.kinds import State


def drawn(node: shell_outline.Node, *, width: int = 100, colours: bool = False) -> list[str]:
    """What a terminal shows."""
    file = io.StringIO()
    system = "standard" if colours else None
    shown = console.Console(file=file, width=width, force_terminal=colours, color_system=system, highlight=False)  # type: ignore[arg-type]
    shown.print(display.draw(node))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_a_running_workflow_shows_times_attempts_output_and_what_waits() -> None:
    followed = running()
    for number in (1, 2):
        followed.add(LogLine("a1", 2, number, f"copied {number} MB"))
    assert drawn(outline.outline(followed, at(67), note="a note")) == [
        f"hello {ID}  RUNNING    1 of 3 done (33%)  1m06s of 10m00s",
        "├── os  worker w1",
        "│   ├── a  SUCCEEDED  0.4s  exit 0",
        "│   ├── b  RUNNING    1m05s of 1m30s  attempt 2",
        "│   │   ├── copied 1 MB",
        "│   │   └── copied 2 MB",
        "│   └── c  PENDING    waits for os/b",
        "└── a note",
    ]


def test_a_workflow_that_nobody_has_begun_says_for_how_long_it_waits_for_whom() -> None:
    followed = tree(workflow(), action(0), action(1, task_name="boot", worker_id="w2", name="longer"))
    assert drawn(outline.outline(followed, at(3700)))[1:] == [
        "├── os  worker w1",
        "│   └── a  PENDING    not started, waits for worker w1 (1h01m)",
        "└── boot  worker w2",
        "    └── longer  PENDING    waits for os/a",
    ]


def test_a_failed_workflow_keeps_the_last_output_of_the_action_that_failed() -> None:
    ended = {"attempt": 1, "started_at": at(1), "finished_at": at(3), "exit_code": 3, "message": "exited with code 3"}
    followed = tree(workflow(State.FAILED), action(0, State.FAILED, **ended), action(1, State.CANCELLED))
    followed.add(LogLine("a0", 1, 1, "no space left"))
    assert drawn(outline.outline(followed, at(67)))[2:] == [
        "    ├── a  FAILED     2.0s  exit 3  exited with code 3",
        "    │   └── no space left",
        "    └── b  CANCELLED",
    ]


def test_before_anything_is_known_the_id_is_shown() -> None:
    assert drawn(outline.outline(workflow_tree.Tree(ID), at(0))) == [f"workflow {ID}"]


def test_a_row_is_cut_where_the_terminal_ends_and_never_broken() -> None:
    followed = running()
    followed.add(LogLine("a1", 2, 1, "x" * 10_000))
    shown = drawn(outline.outline(followed, at(67)), width=30)
    assert len(shown) == outline.outline(followed, at(67)).height
    assert all(len(line) <= 30 for line in shown)


@pytest.mark.parametrize("colours", [False, True])
def test_neither_control_codes_nor_markup_get_through(colours: bool) -> None:
    hostile = "\x1b]0;t\x07[bold red]x[/] :smile: \x9b2J\n\u202e"
    followed = tree(
        workflow(State.RUNNING, template_name=hostile),
        action(0, State.RUNNING, attempt=1, name=hostile, task_name=hostile, worker_id=hostile, message=hostile),
        action(1, task_name=hostile, name="b"),
        action(2, State.CANCELLED, task_name=hostile, message=hostile),
    )
    followed.add(LogLine("a0", 1, 1, hostile))
    shown = "\n".join(drawn(outline.outline(followed, at(3), note=hostile), width=1000, colours=colours))
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
    assert not {"\x07", "\x9b", "\u202e"} & set(shown)
    harmless = "\\x1b]0;t\\x07[bold red]x[/] :smile: \\x9b2J\\n\\u202e"
    assert shown.count(harmless) == 9
    assert len(shown.splitlines()) == 7
    assert ("\x1b[34mRUNNING" in shown) is colours


def many(count: int, *, current: int, tasks: int = 1) -> workflow_tree.Tree:
    """A workflow of many actions."""
    states = [
        State.SUCCEEDED if i < current else State.RUNNING if i == current else State.PENDING for i in range(count)
    ]
    actions = [
        action(i, state, name=f"n{i}", task_name=f"t{i * tasks // count}", attempt=1) for i, state in enumerate(states)
    ]
    return tree(workflow(State.RUNNING, total_actions=count), *actions)


def test_what_fits_is_not_folded() -> None:
    whole = outline.outline(many(10, current=4), at(0))
    assert shell_outline.fit(whole, whole.height) == whole


def test_tasks_away_from_the_running_action_are_folded_first() -> None:
    whole = outline.outline(many(30, current=14, tasks=3), at(0))
    rows = drawn(shell_outline.fit(whole, 20))
    assert rows[1] == "├── t0  10 SUCCEEDED  worker w1"
    assert rows[-1] == "└── t2  10 PENDING  worker w1"
    assert any("n14  RUNNING" in row for row in rows)
    assert len(rows) == 14


@pytest.mark.parametrize("current", [0, 1, 50, 98, 99])
@pytest.mark.parametrize("tasks", [1, 4, 100])
@pytest.mark.parametrize("height", [8, 24, 60])
def test_the_running_action_stays_in_sight_however_many_there_are(current: int, tasks: int, height: int) -> None:
    followed = many(100, current=current, tasks=tasks)
    followed.add(LogLine(f"a{current}", 1, 1, "its output"))
    fitted = shell_outline.fit(outline.outline(followed, at(0), note="a note"), height)
    rows = drawn(fitted)
    assert len(rows) <= height
    assert any(f"n{current}  " in row and "RUNNING" in row for row in rows)
    assert any("its output" in row for row in rows)
    if height > 8:
        assert len(rows) >= height // 2


def test_an_action_that_is_repeated_shows_how_its_attempt_ended_and_when_the_next_is_due() -> None:
    moments = {"started_at": at(1), "updated_at": at(3), "retry_at": at(8)}
    ended = {"attempt": 1, "retries": 3, "exit_code": 28, "message": "no space left"}
    followed = tree(workflow(State.RUNNING, recovers="w0"), action(0, State.PENDING, **moments, **ended))
    followed.add(LogLine("a0", 1, 1, "copied 1 MB"))
    assert drawn(outline.outline(followed, at(4)), width=200) == [
        f"hello {ID}  RUNNING    recovers w0  0 of 3 done (0%)",
        "└── os  worker w1",
        "    └── a  PENDING    attempt 1 of 4  exit 28  retries in 4s  no space left",
        "        └── copied 1 MB",
    ]
    (row,) = [line for line in drawn(outline.outline(followed, at(20)), width=200) if "PENDING" in line]
    assert "waits for attempt 2 by worker w1 (12s)" in row
