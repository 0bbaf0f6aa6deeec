"""How a plan is printed."""

from tinkwell.cli.release import preview
from tinkwell.core.release.kinds import ResourceStatus
from tinkwell.core.release.manifest.hook import HookEvent
from tinkwell.core.release.preview.model import Difference, Mark, PlannedAction, PlannedHook, Preview, PreviewNode

STALE, LEFT = ResourceStatus.STALE, ResourceStatus.LEFT


def actions(*names: str) -> tuple[PlannedAction, ...]:
    return tuple(PlannedAction(name=name) for name in names)


MACHINE_TYPE = Difference(pointer="/config/machine-type", before='"n1-standard-1"', after='"n1-standard-4"')
NODES = (
    PreviewNode(path="rabbitmq:queue", type="t", mark=Mark.SAME, status=ResourceStatus.VALID),
    PreviewNode(
        path="nginx:site",
        type="t",
        mark=Mark.CHANGE,
        status=STALE,
        actions=actions("update-machine-type", "notify"),
        differences=(MACHINE_TYPE,),
    ),
    PreviewNode(path="bar:db", type="t", mark=Mark.CREATE, actions=actions("a", "b", "c", "d")),
    PreviewNode(path="foo:web", type="t", mark=Mark.OPEN, reason="decided at run: config.url needs bar.outputs.url"),
    PreviewNode(
        path="old:cache", type="t", mark=Mark.REMOVE, reason="last in revision 3, removed after batch 3", revision=3
    ),
    PreviewNode(
        path="mail:relay",
        type="t",
        mark=Mark.ATTENTION,
        status=LEFT,
        reason="left in place: acme/mail has no destroy action",
    ),
)


def shown(*nodes: PreviewNode, revision: int = 4, drift: str | None = None, plan_id: str = "7be1") -> list[str]:
    found = Preview(digest="", revision=revision, nodes=nodes, drift=drift)
    return list(preview.lines(found, release="shop", plan_id=plan_id))


def test_each_resource_has_a_line_and_the_last_one_sums_up() -> None:
    assert shown(*NODES) == [
        "  = rabbitmq:queue  valid",
        (
            "  ~ nginx:site      2 actions   update-machine-type, notify  config.machine-type  "
            "n1-standard-1 → n1-standard-4"
        ),
        "  + bar:db          4 actions   a, b, c …",
        "  ? foo:web         decided at run: config.url needs bar.outputs.url",
        "  - old:cache       destroy     (last in revision 3, removed after batch 3)",
        "  ! mail:relay      left in place: acme/mail has no destroy action",
        "1 to change, 1 to create, 1 to remove, 1 decided at run.   Plan 7be1, valid while shop stays at revision 4",
    ]


def test_hooks_that_run_stand_below_the_resources() -> None:
    hook = PlannedHook(path="shop:migrate", type="t", event=HookEvent.PRE_UPGRADE)
    found = Preview(digest="", revision=4, nodes=NODES[:1], hooks=(hook,))
    assert list(preview.lines(found, release="shop", plan_id="7be1")) == [
        "  = rabbitmq:queue  valid",
        "  * shop:migrate    runs at pre-upgrade",
        "1 hook.   Plan 7be1, valid while shop stays at revision 4",
    ]


def test_several_differences_stand_below() -> None:
    node = PreviewNode(
        path="db",
        type="t",
        mark=Mark.CHANGE,
        status=STALE,
        actions=actions("set"),
        differences=(
            Difference(pointer="/config/ports/0", before="80", after="[1, 2]"),
            Difference(pointer="/state/a~1b", after='" x"'),
            Difference(pointer="/config", before='"•••"', after="null"),
        ),
        reason="its type was acme/old",
    )
    assert shown(node)[:-1] == [
        "  ~ db  1 action    set  its type was acme/old",
        "        config.ports[0]  80 → [1, 2]",
        '        state["a/b"]  (none) → " x"',
        "        config  ••• → null",
    ]


def test_nothing_can_move_the_cursor_and_long_values_are_cut() -> None:
    node = PreviewNode(
        path="db",
        type="t",
        mark=Mark.CHANGE,
        status=STALE,
        actions=actions("se\x1b[2Jt"),
        differences=(Difference(pointer="/config/a\nb", before='"\\u001b"', after=f'"{"x" * 100}"'),),
    )
    (line, _) = shown(node)
    assert "\x1b" not in line
    assert "\n" not in line
    assert line.endswith("x…")


def test_a_plan_of_a_free_name_and_one_of_drift_say_how_long_they_are_good() -> None:
    assert shown(revision=0) == ["Nothing to change.   Plan 7be1, valid until shop is there"]
    assert shown(drift="") == ["Nothing has drifted.   shop is at revision 4"]
    assert shown(plan_id="") == ["Nothing to change."]


def test_what_would_fail_keeps_its_actions_and_what_moves_is_no_change() -> None:
    readonly = PreviewNode(
        path="a", type="t", mark=Mark.ATTENTION, status=STALE, actions=actions("set"), reason="readonly"
    )
    moved = PreviewNode(path="b", type="t", mark=Mark.SAME, status=LEFT, reason="it goes on as c")
    assert shown(readonly, moved)[:-1] == ["  ! a  1 action    set  readonly", "  = b  it goes on as c"]
