"""What came of an operation, in words."""

import dataclasses

import pytest
from unit.cli.operation import at, failed, node, operation, step, tree

from tinkwell.cli.release.follow import summary
from tinkwell.cli.release.follow.tree import Tree
from tinkwell.client.release import failure
from tinkwell.core.event.kinds import State
from tinkwell.core.release import report
from tinkwell.core.release.kinds import NodeKind, NodeState, OperationKind, StepKind
from tinkwell.core.release.preview import applying
from tinkwell.core.release.preview.model import PlannedAction


def test_a_success_counts_what_was_done() -> None:
    done = tree(
        operation(State.SUCCEEDED, revision=4, total_nodes=4, finished_at=at(9.3)),
        node(0, "a", NodeState.READY, changed=True),
        node(1, "b", NodeState.READY),
        node(2, "c", NodeState.REMOVED),
        node(3, "d", NodeState.LEFT),
    )
    assert summary.success(done) == (
        "shop DEPLOYED as revision 4 in 9.3s: 1 changed, 1 unchanged, 1 removed, 1 left in place"
    )


def test_a_removal_leaves_no_revision() -> None:
    gone = operation(State.SUCCEEDED, kind=OperationKind.UNINSTALL, total_nodes=1, finished_at=at(75))
    assert summary.success(tree(gone, node(0, "a", NodeState.REMOVED))) == "shop UNINSTALLED in 1m15s: 1 removed"
    empty = dataclasses.replace(gone, total_nodes=0)
    assert summary.success(tree(empty)) == "shop UNINSTALLED in 1m15s"


def test_a_failure_says_where_it_failed_and_how_to_go_on() -> None:
    assert summary.failure(failed(), may_resume=True) == [
        "db failed at action create-role (exit 3): exited with code 3",
        'shop FAILED in 9.3s: 1 changed, 1 failed, 1 skipped; "tinkwell release resume shop" goes on from db',
    ]
    assert summary.failure(failed(), may_resume=False)[1] == "shop FAILED in 9.3s: 1 changed, 1 failed, 1 skipped"


def test_a_cause_of_several_lines_keeps_them() -> None:
    told = "ext/lua/init.lua:3: the handler failed:\x1b[2J\nshop: ext/lua/init.lua:3: in function deeper\n"
    cause = {"reason": "PREPARATION_FAILED", "message": told}
    early = tree(operation(State.FAILED, total_nodes=0, finished_at=at(1.2), cause=cause))
    (sentence,) = summary.failure(early, may_resume=False)
    assert sentence.splitlines()[0].endswith(r": ext/lua/init.lua:3: the handler failed:\x1b[2J")
    assert sentence.splitlines()[1:] == ["shop: ext/lua/init.lua:3: in function deeper"]


def test_another_namespace_is_named_in_the_command() -> None:
    followed = failed()
    assert followed.operation is not None
    elsewhere = dataclasses.replace(followed.operation, namespace="prod")
    assert summary.command("resume", elsewhere) == '"tinkwell release resume shop -n prod"'


def test_before_a_plan_nothing_was_changed() -> None:
    cause = {"reason": "PREPARATION_FAILED", "message": "resources.db.config.size: replicas is unknown"}
    early = tree(operation(State.FAILED, total_nodes=0, finished_at=at(1.2), cause=cause))
    told = "shop FAILED in 1.2s, before anything was changed: resources.db.config.size: replicas is unknown"
    for source, again in (
        (summary.Source.FILES, '"tinkwell release apply shop FILE..."'),
        (summary.Source.CHART, '"tinkwell release upgrade shop CHART"'),
        (None, "the command"),
    ):
        assert summary.failure(early, may_resume=True, source=source) == [told, f"mend that, and run {again} again"]
    assert len(summary.failure(early, may_resume=False)) == 1


def test_only_the_resources_of_charts_are_counted() -> None:
    done = tree(
        operation(State.SUCCEEDED, revision=1, total_nodes=2, finished_at=at(1.5)),
        node(0, "shop.store:db", NodeState.READY, changed=True),
        node(1, "shop.store", NodeState.READY, kind=NodeKind.CHART, changed=True),
        node(2, "shop:sign", NodeState.READY),
        node(3, "shop", NodeState.READY, kind=NodeKind.CHART, changed=True),
    )
    assert summary.success(done) == "shop DEPLOYED as revision 1 in 1.5s: 1 changed, 1 unchanged"


@pytest.mark.parametrize(("kind", "verb"), [(OperationKind.INSTALL, "install"), (OperationKind.UPGRADE, "upgrade")])
def test_a_wrong_config_in_a_chart_is_mended_there(kind: OperationKind, verb: str) -> None:
    message = report.wrong_config("acme/a", "a is missing")
    ended = tree(
        operation(State.FAILED, kind=kind, total_nodes=1, finished_at=at(1.2), cause={"reason": "NODE_FAILED"}),
        node(0, "shop:a", NodeState.FAILED, message=message, finished_at=at(1)),
        node(1, "shop", NodeState.FAILED, kind=NodeKind.CHART, message="not ready", finished_at=at(1)),
    )
    assert summary.failure(ended, may_resume=True)[1] == (
        f'shop FAILED in 1.2s: 1 failed; mend that, and run "tinkwell release {verb} shop CHART" again'
    )


@pytest.mark.parametrize("kind", [OperationKind.ROLLBACK, OperationKind.UNINSTALL])
def test_what_brings_about_no_files_has_none_to_mend(kind: OperationKind) -> None:
    cause = {"reason": "PREPARATION_FAILED", "message": "it went wrong"}
    early = tree(operation(State.FAILED, kind=kind, total_nodes=0, finished_at=at(1.2), cause=cause))
    assert len(summary.failure(early, may_resume=True)) == 1


@pytest.mark.parametrize("kind", [StepKind.INIT, StepKind.STATE])
def test_a_wrong_config_is_told_once_and_is_not_to_be_resumed(kind: StepKind) -> None:
    message = report.wrong_config("acme/file:1", 'resources.a.config: "content" is a required property')
    wrong = tree(
        operation(State.FAILED, total_nodes=2, finished_at=at(1.2), cause={"reason": "NODE_FAILED", "path": "a"}),
        node(0, "a", NodeState.FAILED, step("a", 1, State.FAILED, kind, exit_code=0, message=message), message=message),
        node(1, "b", NodeState.SKIPPED),
    )
    assert summary.failure(wrong, may_resume=True) == [
        'a: its config is not what acme/file:1 takes: resources.a.config: "content" is a required property',
        'shop FAILED in 1.2s: 1 failed, 1 skipped; mend that, and run "tinkwell release apply shop FILE..." again',
    ]


def test_a_call_without_a_message_is_told_once() -> None:
    broken = step("a", 1, State.FAILED, StepKind.INIT, exit_code=2)
    told = failure.of_node(node(0, "a", NodeState.FAILED, broken, message="init FAILED (exit 2)"))
    assert told == "a failed at init (exit 2)"


def test_where_no_call_failed_it_is_said_why() -> None:
    asked = step("a", 1, State.SUCCEEDED, StepKind.STATE)
    stale = "state is STALE, and the manifest says readonly, so no action may change that"
    assert failure.of_node(node(0, "a", NodeState.FAILED, asked, message=stale)) == f"a: {stale}"


def test_what_ran_out_of_time_says_after_how_long() -> None:
    late = operation(State.TIMEOUT, finished_at=at(300), cause={"reason": "TIMEOUT", "message": "too late"})
    skipped = [node(i, name, NodeState.SKIPPED) for i, name in enumerate("abc")]
    assert summary.failure(tree(late, *skipped), may_resume=True) == [
        "too late",
        'shop TIMEOUT after 5m00s: 3 skipped; "tinkwell release resume shop" goes on',
    ]


def test_where_an_action_was_lost_the_user_must_accept_that() -> None:
    lost = failed()
    assert lost.operation is not None
    cause = {"reason": "STEP_LOST", "message": "x", "path": "db"}
    lost.replace(dataclasses.replace(lost.operation, cause=cause, version=2), lost.nodes)
    assert summary.failure(lost, may_resume=True)[1].endswith(
        '"tinkwell release resume shop --accept-lost" goes on from db'
    )


@pytest.mark.parametrize(("kind", "given"), [(NodeKind.RESOURCE, "FILE..."), (NodeKind.CHART, "CHART")])
def test_what_a_plan_does_not_have_needs_another_one(kind: NodeKind, given: str) -> None:
    message = applying.problem({}, "db", [PlannedAction(name="grow")])
    ended = tree(
        operation(State.FAILED, total_nodes=1, finished_at=at(1.2), cause={"reason": "NODE_FAILED", "path": "db"}),
        node(0, "db", NodeState.FAILED, message=message, finished_at=at(1)),
        node(1, "shop", NodeState.SKIPPED, kind=kind),
    )
    told = summary.failure(ended, may_resume=True)[1]
    assert told.endswith(f'; "tinkwell release plan shop {given}" makes a new plan')


def ended_test(state: State, *states: NodeState) -> Tree:
    """The operation that runs so many tests, beside a hook before them."""
    finished = operation(state, kind=OperationKind.TEST, total_nodes=0, finished_at=at(2))
    tests = [
        node(i, f"shop:t{i}@test", each, kind=NodeKind.HOOK, message="test FAILED (exit 2)", finished_at=at(1))
        for i, each in enumerate(states)
    ]
    before = node(len(tests), "shop:seed@pre-test", NodeState.READY, kind=NodeKind.HOOK, changed=True)
    return tree(finished, *tests, before)


def test_tests_are_counted_and_a_release_without_any_says_so() -> None:
    assert summary.success(ended_test(State.SUCCEEDED)) == "shop has no tests"
    assert summary.success(ended_test(State.SUCCEEDED, NodeState.READY)) == "shop TESTED in 2.0s: 1 test ran"
    assert summary.success(ended_test(State.SUCCEEDED, NodeState.READY, NodeState.READY)).endswith(": 2 tests ran")


def test_it_is_the_test_that_has_failed_and_not_its_release() -> None:
    assert summary.failure(ended_test(State.FAILED, NodeState.READY, NodeState.FAILED), may_resume=True) == [
        "shop:t1@test: test FAILED (exit 2)",
        "the test of shop ended as FAILED in 2.0s: 1 of 2 tests failed; shop stays as it was",
    ]


@pytest.mark.parametrize(
    ("kind", "message", "is_mended"),
    [
        (NodeKind.RESOURCE, "init FAILED: plugs.files: is needed by a (acme/a:1), but does not exist", True),
        (NodeKind.RESOURCE, "init FAILED: plugs.d: is needed by a, but may not be used by the image acme/a:1", False),
        (NodeKind.RESOURCE, "init FAILED (exit 2)", False),
        (NodeKind.EVENT, "ext/lua/init.lua:3: the handler of post-install for shop failed: no", True),
        (NodeKind.EVENT, "acme/hooks.py:3: the handler of post-install for shop failed: no", False),
    ],
)
def test_what_would_fail_in_the_same_way_is_mended_and_not_resumed(
    kind: NodeKind, message: str, *, is_mended: bool
) -> None:
    ended = tree(
        operation(State.FAILED, total_nodes=1, finished_at=at(1.2), cause={"reason": "NODE_FAILED"}),
        node(0, "a", NodeState.FAILED, kind=kind, message=message, finished_at=at(1)),
        node(1, "shop", NodeState.FAILED, kind=NodeKind.CHART, message="not ready", finished_at=at(1)),
    )
    told = summary.failure(ended, may_resume=True)[1]
    assert ('run "tinkwell release upgrade shop CHART" again' in told) is is_mended
    assert ("resume" in told) is not is_mended
