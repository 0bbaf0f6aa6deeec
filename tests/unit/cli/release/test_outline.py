"""An operation's tree as nodes, and as it is drawn."""

import dataclasses
import io
from typing import Any

from rich import console
from unit.cli.operation import ID, at, failed, line, node, operation, running, step, tree

from tinkwell.cli.release.follow import arrangement, outline
from tinkwell.cli.shell import display
from tinkwell.cli.shell import outline as shell_outline
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, OperationKind, Phase


def drawn(found: shell_outline.Node) -> list[str]:
    """What a terminal shows."""
    file = io.StringIO()
    shown = console.Console(file=file, width=120, force_terminal=False, color_system=None, highlight=False)
    shown.print(display.draw(found))
    return [text.rstrip() for text in file.getvalue().splitlines()]


def test_a_running_operation_shows_batches_times_steps_output_and_what_waits() -> None:
    followed = running()
    followed.add(line("db", "granting", ordinal=3))
    assert drawn(outline.outline(followed, at(67), note="a note")) == [
        f"shop upgrade {ID[:8]}  RUNNING    1 of 3 done (33%)  1m07s of 5m00s",
        "├── batch 1 of 2",
        "│   ├── role  READY       0.4s  unchanged",
        "│   └── db    INSTALLING  1m05s  action grant (2 of 2)  attempt 2",
        "│       └── granting",
        "├── batch 2 of 2",
        "│   └── site  PENDING     waits for db (INSTALLING)",
        "└── a note",
    ]


def test_nodes_of_one_batch_stand_alone() -> None:
    followed = tree(operation(total_nodes=2), node(0, "a", NodeState.INSTALLING, started_at=at(1)), node(1, "b"))
    assert drawn(outline.outline(followed, at(3)))[1:] == [
        "├── a  INSTALLING  2s",
        "└── b  PENDING",
    ]


def test_before_there_is_a_plan_the_phase_is_shown() -> None:
    pending = tree(operation(State.PENDING, kind=OperationKind.INSTALL, total_nodes=0))
    assert drawn(outline.outline(pending, at(2))) == [f"shop install {ID[:8]}  PENDING    2s of 5m00s"]
    rendering = tree(operation(total_nodes=0, phase=Phase.RENDER, cancel_requested=True))
    assert drawn(outline.outline(rendering, at(2))) == [
        f"shop upgrade {ID[:8]}  RUNNING    render  cancel requested  2s of 5m00s"
    ]


def test_nothing_is_known_of_it_yet() -> None:
    assert drawn(outline.outline(type(running())(ID), at(0))) == [f"operation {ID}"]


def test_a_failed_operation_keeps_the_last_output_of_what_failed() -> None:
    followed = failed()
    followed.add(line("db", 'role "bar" exists'))
    assert drawn(outline.outline(followed, at(99))) == [
        f"shop upgrade {ID[:8]}  FAILED     3 of 3 done (100%)  9.3s",
        "├── batch 1 of 2",
        "│   ├── role  READY       0.4s",
        "│   └── db    FAILED      7.0s  exited with code 3",
        '│       └── role "bar" exists',
        "└── batch 2 of 2",
        "    └── site  SKIPPED",
    ]


def test_what_was_changed_names_its_actions_or_counts_them() -> None:
    steps = [step("a", i, State.SUCCEEDED, name=f"do-{i}") for i in range(1, 4)]
    assert outline.actions_text(node(0, "a", NodeState.READY, *steps, changed=True)) == "do-1, do-2, do-3"
    many = [*steps, step("a", 4, State.SUCCEEDED, name="do-4")]
    assert outline.actions_text(node(0, "a", NodeState.READY, *many, changed=True)) == "4 actions"


def test_a_removal_says_so_until_it_has_begun() -> None:
    old = node(0, "old", task=NodeTask.REMOVE)
    followed = tree(operation(total_nodes=1), old)
    assert drawn(outline.outline(followed, at(1)))[1:] == ["└── old  PENDING     to be removed"]
    followed = tree(
        operation(total_nodes=1), dataclasses.replace(old, state=NodeState.LEFT, message="it is to be kept")
    )
    assert drawn(outline.outline(followed, at(1)))[1:] == ["└── old  LEFT        it is to be kept"]


def test_an_action_that_is_repeated_is_told() -> None:
    again = step("a", 1, State.PENDING, name="copy", attempt=1, exit_code=28)
    followed = tree(operation(total_nodes=1), node(0, "a", NodeState.INSTALLING, again))
    assert drawn(outline.outline(followed, at(1)))[1:] == ["└── a  INSTALLING  action copy  waits for its next attempt"]


def test_a_long_tree_is_folded_to_what_happens() -> None:
    batches = [
        node(10 * b + i, f"n{b}-{i}", NodeState.READY if b < 3 else NodeState.PENDING, batch=b)
        for b in range(1, 6)
        for i in range(10)
    ]
    batches[20] = dataclasses.replace(batches[20], state=NodeState.INSTALLING)
    root = outline.outline(tree(operation(total_nodes=50), *batches), at(5))
    rows = drawn(shell_outline.fit(root, 20))
    assert len(rows) <= 20
    assert "├── batch 1 of 5  10 READY" in rows
    assert any("n3-0  INSTALLING" in row for row in rows)
    assert "└── batch 5 of 5  10 PENDING" in rows


def test_what_is_in_a_chart_stands_below_it_by_batches() -> None:
    chart = NodeKind.CHART
    followed = tree(
        operation(total_nodes=3),
        node(0, "shop.queue:q", NodeState.READY, started_at=at(1), finished_at=at(2), changed=True),
        node(1, "shop.queue", NodeState.READY, kind=chart, started_at=at(1), finished_at=at(2), changed=True),
        node(2, "shop.store:db", NodeState.INSTALLING, started_at=at(2)),
        node(3, "shop.store", NodeState.INSTALLING, kind=chart, batch=2, started_at=at(2)),
        node(4, "shop:web", after=("shop.store",)),
        node(5, "shop", NodeState.INSTALLING, kind=chart, started_at=at(1)),
    )
    assert drawn(outline.outline(followed, at(5))) == [
        f"shop upgrade {ID[:8]}  RUNNING    1 of 3 done (33%)  5s of 5m00s",
        "└── shop  INSTALLING  4s",
        "    ├── batch 1 of 2",
        "    │   └── shop.queue  READY       1.0s",
        "    │       └── shop.queue:q  READY       1.0s",
        "    ├── batch 2 of 2",
        "    │   └── shop.store  INSTALLING  3s",
        "    │       └── shop.store:db  INSTALLING  3s",
        "    └── shop:web  PENDING     waits for shop.store (INSTALLING)",
    ]


def test_of_a_chart_that_is_waited_for_it_is_told_how_far_it_is() -> None:
    waiting = node(3, "shop.stores:db", after=("shop.store",))
    followed = tree(
        operation(total_nodes=3),
        node(0, "shop.store:db", NodeState.READY),
        node(1, "shop.store.inner:db", NodeState.INSTALLING),
        node(2, "shop.store", NodeState.INSTALLING, kind=NodeKind.CHART),
        waiting,
    )
    assert followed.wait(waiting) == "waits for shop.store (INSTALLING, 1 of 2 ready)"
    assert followed.wait(waiting, with_states=False) == "waits for shop.store"


def test_what_is_removed_with_a_chart_stands_in_the_reverse_order() -> None:
    gone = {"task": NodeTask.REMOVE}
    followed = tree(
        operation(total_nodes=2),
        node(0, "shop:web", NodeState.PENDING, **gone),
        node(1, "shop.store:db", NodeState.PENDING, **gone),
        node(2, "shop.store", NodeState.PENDING, kind=NodeKind.CHART, after=("shop:web",), **gone),
        node(3, "shop", NodeState.PENDING, kind=NodeKind.CHART, **gone),
    )
    [root] = outline.outline(followed, at(1)).children
    assert [child.title for child in root.children] == ["shop:web", "shop.store"]
    [database] = root.children[1].children
    assert database.details == ("to be removed", "waits for shop:web (PENDING)")
    rows = [found.path for found in arrangement.of(followed.nodes).flat()]
    assert rows == ["shop", "shop:web", "shop.store", "shop.store:db"]


def test_hooks_stand_around_what_is_in_their_chart_and_events_where_they_tell_anything() -> None:
    hook: dict[str, Any] = {"kind": NodeKind.HOOK}
    event: dict[str, Any] = {"kind": NodeKind.EVENT}
    followed = tree(
        operation(total_nodes=1),
        node(0, "shop/pre-install", NodeState.READY, **event),
        node(1, "shop:migrate@pre-install", NodeState.READY, **hook, started_at=at(1), finished_at=at(2), changed=True),
        node(2, "shop/install", NodeState.READY, **event),
        node(3, "shop:web", NodeState.READY, started_at=at(2), finished_at=at(3)),
        node(4, "shop/post-install", NodeState.INSTALLING, **event, started_at=at(3)),
        node(5, "shop:check@post-install", after=("shop/post-install",), **hook),
        node(6, "shop/ready", **event),
        node(7, "shop", NodeState.INSTALLING, kind=NodeKind.CHART, started_at=at(1)),
    )
    assert drawn(outline.outline(followed, at(5)))[1:] == [
        "└── shop  INSTALLING  4s",
        "    ├── shop:migrate@pre-install  READY       1.0s",
        "    ├── shop:web                  READY       1.0s  unchanged",
        "    ├── shop/post-install         INSTALLING  2s",
        "    └── shop:check@post-install   PENDING     waits for shop/post-install (INSTALLING)",
    ]


def test_hooks_without_a_chart_stand_around_the_batches() -> None:
    followed = tree(
        operation(total_nodes=1),
        node(0, "/pre-delete", NodeState.FAILED, kind=NodeKind.EVENT, message="no"),
        node(1, "leaving@pre-delete", kind=NodeKind.HOOK, task=NodeTask.REMOVE),
        node(2, "web", task=NodeTask.REMOVE),
        node(3, "gone@post-delete", kind=NodeKind.HOOK, task=NodeTask.REMOVE),
    )
    assert followed.focus == followed.node("/pre-delete")
    assert [row.split("  ")[0] for row in drawn(outline.outline(followed, at(5)))[1:]] == [
        *("├── /pre-delete", "├── leaving@pre-delete", "├── web", "└── gone@post-delete")
    ]
