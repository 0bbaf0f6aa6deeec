"""How the view of an operation goes on, and what is reported of it."""

from dataclasses import replace
from typing import Any

import pytest
from unit.core.release_model import (
    ACTION,
    CANCELLED,
    DESTROY,
    FAILED,
    INIT,
    INSTALLING,
    OPERATION_ID,
    PENDING,
    READY,
    RECHECK,
    REMOVING,
    RUNNING,
    STATE,
    SUCCEEDED,
    TIMEOUT,
    install,
    plan,
)

from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision import outcome
from tinkwell.core.release.decision.command import MoveNode, StartStep
from tinkwell.core.release.decision.outcome import Outcome
from tinkwell.core.release.decision.view import (
    Answer,
    InitFacts,
    NodeSpec,
    NodeView,
    OperationView,
    Retry,
    Settings,
    StepKey,
    StepView,
    Timeouts,
)
from tinkwell.core.release.kinds import NodeState, NodeTask, ResourceStatus, StepKind
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import Call, NodeReport, RemovedReport, ResourceReport, StepReport

CREATE, GRANT = Call(name="create"), Call(name="grant", image="other", args=("x",))
FACTS = InitFacts(state_call=Call(name="state"))
VALID = Answer(status=ResourceStatus.VALID, has_state=True)
STALE = Answer(status=ResourceStatus.STALE, has_state=True, actions=(CREATE, GRANT))
ABSENT = Answer(status=ResourceStatus.STALE, has_state=False, actions=(CREATE,))
KEY = StepKey("db", 1)
LOST = "STEP_LOST: nobody can tell"


def running(kind: StepKind, attempt: int = 1, ordinal: int = 1) -> StepView:
    return StepView(ordinal=ordinal, kind=kind, state=RUNNING, attempt=attempt, call=CREATE)


def view(*steps: StepView, options: Options | None = None, left: float = 100.0, **fields: Any) -> OperationView:
    operation = {name: fields.pop(name) for name in ("cancel_seconds",) if name in fields}
    given: dict[str, Any] = {"spec": NodeSpec(type="image"), "init": FACTS, "state": INSTALLING}
    node = NodeView(path="db", steps=steps, **given | fields)
    return OperationView(
        id=OPERATION_ID,
        plan=plan(install("db")),
        nodes={"db": node},
        options=options or Options(),
        remaining_seconds=left,
        **operation,
    )


def told(ordinal: int, kind: StepKind, state: State, attempt: int = 1, call: Call = CREATE, **more: Any) -> StepReport:
    return StepReport(path="db", ordinal=ordinal, kind=kind, state=state, attempt=attempt, call=call, **more)


def test_a_start_is_told_before_anything_runs() -> None:
    command = StartStep(step=KEY, kind=STATE, attempt=1, call=CREATE, timeout_seconds=30)
    settled = outcome.start(view(), command)
    assert settled.view.step(KEY) == running(STATE)
    assert settled.reports == (told(1, STATE, RUNNING),)


def test_another_attempt_has_no_exit_code_of_the_former_one() -> None:
    failed = replace(running(ACTION), state=PENDING, exit_code=7, message="no", wait_seconds=0.0)
    command = StartStep(step=KEY, kind=ACTION, attempt=2, call=CREATE, timeout_seconds=300)
    assert outcome.start(view(failed), command).view.step(KEY) == running(ACTION, 2)


def test_an_init_is_known_and_kept_from_then_on() -> None:
    before = view(running(INIT), state=NodeState.PENDING, init=None)
    ended = Outcome(state=SUCCEEDED, exit_code=0, init=FACTS, init_text="{}", image_id="sha256:1")
    settled = outcome.end(before, KEY, ended)
    assert settled.view.nodes["db"].init == FACTS
    assert settled.reports == (
        told(1, INIT, SUCCEEDED, exit_code=0),
        ResourceReport(path="db", type="image", status=ResourceStatus.UNKNOWN, init="{}", image_id="sha256:1"),
    )


def test_an_init_that_is_asked_anew_leaves_what_is_known_of_the_resource() -> None:
    spec = NodeSpec(type="image", status=ResourceStatus.VALID, owned=True)
    settled = outcome.end(view(running(INIT), spec=spec), KEY, Outcome(state=SUCCEEDED, init=FACTS))
    assert settled.reports[1] == ResourceReport(path="db", type="image", status=ResourceStatus.VALID, owned=True)


def test_actions_that_state_asks_for_are_inserted_with_its_end() -> None:
    ended = Outcome(state=SUCCEEDED, exit_code=0, answer=STALE, config="C", resource_state="S")
    settled = outcome.end(view(running(STATE)), KEY, ended)
    node = settled.view.nodes["db"]
    assert [(step.kind, step.state, step.call) for step in node.steps[1:]] == [
        (ACTION, PENDING, CREATE),
        (ACTION, PENDING, GRANT),
    ]
    assert settled.reports == (
        told(1, STATE, SUCCEEDED, exit_code=0),
        ResourceReport(path="db", type="image", status=ResourceStatus.STALE, config="C", state="S", owned=False),
        told(2, ACTION, PENDING, 0),
        told(3, ACTION, PENDING, 0, GRANT),
    )


@pytest.mark.parametrize(("answer", "owned"), [(VALID, False), (STALE, False), (ABSENT, True)])
def test_a_release_owns_what_its_first_state_did_not_find(answer: Answer, owned: bool) -> None:
    settled = outcome.end(view(running(STATE)), KEY, Outcome(state=SUCCEEDED, answer=answer))
    assert settled.view.nodes["db"].spec.owned is owned
    report = settled.reports[1]
    assert isinstance(report, ResourceReport)
    assert report.owned is owned


@pytest.mark.parametrize("owned", [True, False])
def test_who_owns_a_resource_is_settled_once(owned: bool) -> None:
    spec = NodeSpec(type="image", owned=owned)
    for answer in (VALID, STALE, ABSENT):
        settled = outcome.end(view(running(STATE), spec=spec), KEY, Outcome(state=SUCCEEDED, answer=answer))
        assert settled.view.nodes["db"].spec.owned is owned


@pytest.mark.parametrize("accept_lost", [True, False])
def test_actions_that_must_not_run_are_not_inserted(accept_lost: bool) -> None:
    readonly = NodeSpec(type="image", readonly=True)
    settled = outcome.end(view(running(STATE), spec=readonly), KEY, Outcome(state=SUCCEEDED, answer=STALE))
    assert len(settled.reports) == 2
    lost = replace(running(ACTION), state=FAILED, message=LOST, is_former=True)
    before = view(lost, running(STATE, ordinal=2), options=Options(accept_lost=accept_lost))
    settled = outcome.end(before, StepKey("db", 2), Outcome(state=SUCCEEDED, answer=STALE))
    assert len(settled.reports) == (4 if accept_lost else 2)


def test_the_state_of_what_is_removed_asks_for_no_action() -> None:
    before = view(running(STATE), task=NodeTask.REMOVE, state=REMOVING)
    settled = outcome.end(before, KEY, Outcome(state=SUCCEEDED, answer=STALE))
    assert settled.reports == (told(1, STATE, SUCCEEDED),)
    assert settled.view.nodes["db"].answer == STALE


def retried(
    rule: Retry | None, ended: Outcome, *, attempt: int = 1, kind: StepKind = ACTION, **fields: Any
) -> StepView:
    spec = NodeSpec(type="image", settings=Settings(retry=rule))
    before = view(running(kind, attempt), spec=spec, **fields)
    settled = outcome.end(before, KEY, ended)
    step = settled.view.step(KEY)
    [report] = settled.reports
    assert isinstance(report, StepReport)
    assert (report.state, report.attempt, report.exit_code) == (step.state, step.attempt, step.exit_code)
    return step


BROKEN = Outcome(state=FAILED, exit_code=7, message="no")
SLOW = Outcome(state=TIMEOUT, message="too slow")


@pytest.mark.parametrize("kind", [ACTION, DESTROY])
@pytest.mark.parametrize("ended", [BROKEN, SLOW])
@pytest.mark.parametrize(("attempt", "wait"), [(1, 3.0), (2, 6.0), (3, None)])
def test_attempts_without_success_are_repeated(
    kind: StepKind, ended: Outcome, attempt: int, wait: float | None
) -> None:
    step = retried(Retry(attempts=3, delay_seconds=3), ended, attempt=attempt, kind=kind)
    assert step.state is (ended.state if wait is None else PENDING)
    assert step.wait_seconds == (wait or 0.0)
    assert (step.attempt, step.message) == (attempt, ended.message)


@pytest.mark.parametrize(
    ("rule", "ended", "fields"),
    [
        (None, BROKEN, {}),
        (Retry(attempts=1), BROKEN, {}),
        (Retry(attempts=3, exit_codes=(8, 9)), BROKEN, {}),
        (Retry(attempts=3, exit_codes=(7,)), SLOW, {}),
        (Retry(attempts=3, delay_seconds=3), BROKEN, {"left": 3.0}),
        (Retry(attempts=3, delay_seconds=0), BROKEN, {"left": -1.0}),
        (Retry(attempts=3, delay_seconds=0), BROKEN, {"cancel_seconds": 30.0}),
    ],
)
def test_what_is_not_to_be_repeated_has_ended(rule: Retry | None, ended: Outcome, fields: Any) -> None:
    assert retried(rule, ended, **fields).state is ended.state


def test_only_the_exit_codes_that_are_named_are_repeated() -> None:
    assert retried(Retry(attempts=2, exit_codes=(7,)), BROKEN).state is PENDING


@pytest.mark.parametrize("kind", [STATE, RECHECK, INIT])
def test_calls_without_effects_are_not_repeated(kind: StepKind) -> None:
    assert retried(Retry(attempts=3), BROKEN, kind=kind).state is FAILED


def test_the_manifests_retries_win_over_the_images() -> None:
    image = replace(FACTS, settings=Settings(retry=Retry(attempts=2)))
    assert retried(None, BROKEN, init=image).state is PENDING
    assert retried(Retry(attempts=1), BROKEN, init=image).state is FAILED


DONE = replace(running(STATE), state=SUCCEEDED)


@pytest.mark.parametrize(("ready", "option", "seconds"), [(None, 0, None), (None, 9, 9.0), (5, 9, 5.0), (5, 0, 5.0)])
def test_the_time_to_become_ready_counts_from_the_end_of_the_last_action(
    ready: int | None, option: int, seconds: float | None
) -> None:
    spec = NodeSpec(type="image", settings=Settings(timeouts=Timeouts(ready=ready)))
    options = Options(readiness_timeout_seconds=option)
    last = replace(running(ACTION, 0, ordinal=3), state=PENDING)
    before = view(DONE, running(ACTION, ordinal=2), last, spec=spec, options=options, answer=STALE)
    settled = outcome.end(before, StepKey("db", 2), Outcome(state=SUCCEEDED))
    assert settled.view.nodes["db"].ready_seconds is None
    node = settled.view.nodes["db"]
    begun = settled.view.with_node(replace(node, steps=(*node.steps[:2], running(ACTION, ordinal=3))))
    settled = outcome.end(begun, StepKey("db", 3), Outcome(state=SUCCEEDED))
    assert settled.view.nodes["db"].ready_seconds == seconds


def checked(poll: int | None, answer: Answer, **fields: Any) -> StepView:
    before = view(running(RECHECK), init=replace(FACTS, poll_seconds=poll), answer=STALE, **fields)
    return outcome.end(before, KEY, Outcome(state=SUCCEEDED, answer=answer, message="a ≠ b")).view.step(KEY)


def test_a_recheck_that_is_valid_has_succeeded() -> None:
    before = view(running(RECHECK), answer=STALE, spec=NodeSpec(type="image", owned=True))
    settled = outcome.end(before, KEY, Outcome(state=SUCCEEDED, answer=VALID, resource_state="S"))
    assert settled.view.step(KEY).state is SUCCEEDED
    assert settled.reports[1] == ResourceReport(
        path="db", type="image", status=ResourceStatus.VALID, state="S", owned=True
    )


@pytest.mark.parametrize("answer", [STALE, ABSENT])
def test_a_recheck_that_is_not_valid_has_failed_or_is_asked_again(answer: Answer) -> None:
    once = checked(None, answer)
    assert (once.state, once.message) == (FAILED, "a ≠ b")
    again = checked(4, answer)
    assert (again.state, again.wait_seconds, again.message) == (PENDING, 4.0, "a ≠ b")


@pytest.mark.parametrize(
    "fields", [{"ready_seconds": 4.0}, {"left": 4.0}, {"left": 4.0, "ready_seconds": 9.0}, {"cancel_seconds": 9.0}]
)
def test_a_recheck_is_not_asked_again_where_no_time_is_left(fields: Any) -> None:
    assert checked(4, STALE, **fields).state is FAILED


@pytest.mark.parametrize("kind", [STATE, ACTION, RECHECK, DESTROY])
def test_after_a_call_that_was_cut_off_another_round_begins(kind: StepKind) -> None:
    left = replace(running(ACTION, 0, ordinal=2), state=PENDING)
    settled = outcome.end(view(running(kind), left, answer=STALE), KEY, Outcome(state=CANCELLED, message="gone"))
    node = settled.view.nodes["db"]
    assert node.answer is None
    assert node.round == ()
    assert settled.reports == (told(1, kind, CANCELLED, message="gone"),)


def test_an_action_that_has_run_is_known_to_have_run_after_it_is_cancelled() -> None:
    failed = replace(running(ACTION), state=PENDING, exit_code=7, is_former=True)
    settled = outcome.end(view(failed), KEY, Outcome(state=CANCELLED))
    assert settled.view.nodes["db"].is_changed
    assert settled.reports == (told(1, ACTION, CANCELLED, exit_code=7),)
    never_ran = outcome.end(view(running(ACTION)), KEY, Outcome(state=CANCELLED))
    assert not never_ran.view.nodes["db"].is_changed


def test_messages_are_cut() -> None:
    settled = outcome.end(view(running(ACTION)), KEY, Outcome(state=FAILED, message="x" * 5_000))
    assert len(settled.view.step(KEY).message) == 1_000


@pytest.mark.parametrize(
    ("state", "begun"), [(INSTALLING, True), (REMOVING, True), (NodeState.SKIPPED, False), (NodeState.FAILED, False)]
)
def test_a_node_that_was_begun_is_known_as_such(state: NodeState, begun: bool) -> None:
    before = view(state=NodeState.PENDING)
    settled = outcome.move(before, MoveNode(path="db", state=state, changed=True, message="m"))
    node = settled.view.nodes["db"]
    assert (node.state, node.is_begun, node.message) == (state, begun, "m")
    assert settled.reports == (NodeReport(path="db", state=state, changed=True, message="m"),)
    ended = outcome.move(settled.view, MoveNode(path="db", state=READY))
    assert ended.view.nodes["db"].is_begun is begun


@pytest.mark.parametrize(
    ("state", "fields", "report"),
    [
        (NodeState.REMOVED, {"owned": True}, RemovedReport("db")),
        (NodeState.LEFT, {"owned": True, "moved_to": "new"}, RemovedReport("db")),
        (NodeState.LEFT, {"owned": None}, RemovedReport("db")),
        (NodeState.LEFT, {"owned": True}, ResourceReport(path="db", type="image", status=ResourceStatus.LEFT)),
        (NodeState.LEFT, {"owned": False}, ResourceReport(path="db", type="image", status=ResourceStatus.LEFT)),
    ],
)
def test_what_is_known_of_a_resource_goes_with_it(state: NodeState, fields: Any, report: Any) -> None:
    before = view(spec=NodeSpec(type="image", **fields), task=NodeTask.REMOVE, state=NodeState.PENDING)
    assert outcome.move(before, MoveNode(path="db", state=state)).reports[1:] == (report,)
