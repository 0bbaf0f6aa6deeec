"""The rules of workflows, one by one; `test_transition_property` has what holds for any sequence of reports."""

from collections.abc import Sequence

import pytest
from unit.core.workflow_model import (
    CANCELLED,
    FAILED,
    FINAL,
    PENDING,
    RUNNING,
    SUCCEEDED,
    TIMEOUT,
    action,
    actions,
    cause,
    heard,
    report,
    workflow,
)

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.value import document
from tinkwell.core.workflow import change, deadline, transition
from tinkwell.core.workflow.change import (
    Action,
    AdvanceWorkflow,
    Changes,
    EndAction,
    EndWorkflow,
    RetryAction,
    StartAction,
    StartWorkflow,
)
from tinkwell.core.workflow.transition import Report, Workflow


def test_the_first_start_starts_the_workflow_before_the_action() -> None:
    changes = report(workflow(PENDING), actions(PENDING, PENDING), heard(0, RUNNING, message="go"))
    assert changes == Changes((StartWorkflow(), StartAction("a0", 1, "go")), 1)


def test_a_later_start_starts_the_action_alone() -> None:
    changes = report(workflow(), actions(SUCCEEDED, PENDING), heard(1, RUNNING))
    assert changes == Changes((StartAction("a1", 1, ""),), 1)


def test_a_success_before_the_last_action_counts_it() -> None:
    changes = report(workflow(), actions(RUNNING, PENDING), heard(0, SUCCEEDED, message="done", exit_code=0))
    assert changes == Changes((EndAction("a0", SUCCEEDED, "done", 0), AdvanceWorkflow(1)), 1)


def test_the_last_success_ends_the_workflow() -> None:
    changes = report(workflow(), actions(SUCCEEDED, RUNNING), heard(1, SUCCEEDED))
    assert changes.steps == (EndAction("a1", SUCCEEDED, ""), EndWorkflow(SUCCEEDED, 2))


@pytest.mark.parametrize(("state", "reason"), [(FAILED, "ACTION_FAILED"), (TIMEOUT, "ACTION_TIMEOUT")])
def test_an_action_that_does_not_succeed_cancels_the_rest_and_ends_the_workflow(state: State, reason: str) -> None:
    before = actions(SUCCEEDED, RUNNING, PENDING, PENDING)
    changes = report(workflow(), before, heard(1, state, message="broken", exit_code=3))
    why = f"not run, because action n1 of task t ended as {state}"
    cause = change.Cause(reason=change.Reason(reason), message="broken", action=before[1], exit_code=3)
    assert changes.steps == (
        EndAction("a1", state, "broken", 3),
        EndAction("a2", CANCELLED, why),
        EndAction("a3", CANCELLED, why),
        EndWorkflow(state, 1, cause),
    )


@pytest.mark.parametrize(
    ("workflow_left", "action_left", "reason"),
    [
        (None, None, "ACTION_TIMEOUT"),
        (None, -1.0, "ACTION_TIMEOUT"),
        (30.0, -1.0, "ACTION_TIMEOUT"),
        (30.0, 10.0, "ACTION_TIMEOUT"),
        (-1.0, None, "GLOBAL_TIMEOUT"),
        (-1.0, 10.0, "GLOBAL_TIMEOUT"),
        (0.0, 10.0, "GLOBAL_TIMEOUT"),
        (-2.0, -1.0, "GLOBAL_TIMEOUT"),
        (-1.0, -2.0, "ACTION_TIMEOUT"),
    ],
)
def test_a_timeout_is_put_down_to_the_limit_that_passed_first(
    workflow_left: float | None, action_left: float | None, reason: str
) -> None:
    changes = report(
        workflow(remaining=workflow_left), [action(0, RUNNING, remaining_seconds=action_left)], heard(0, TIMEOUT)
    )
    assert cause(changes).reason == reason


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("ACTION_FAILED", {"next": {"on_failure": ["sh", "-c", "f"]}}),
        ("ACTION_TIMEOUT", {"next": {"on_timeout": ["t"]}}),
        ("GLOBAL_TIMEOUT", {"next": {"on_timeout": ["t"]}}),
        ("CANCELLED", {}),
    ],
)
def test_a_cause_says_which_action_and_what_may_run_next(reason: str, expected: document.JsonObject) -> None:
    ended = action(2, RUNNING, on_failure=("sh", "-c", "f"), on_timeout=("t",))
    cause = change.Cause(reason=change.Reason(reason), message="why", action=ended, exit_code=1)
    assert (
        cause.as_document()
        == {
            "reason": reason,
            "message": "why",
            "action_id": "a2",
            "action_index": 2,
            "task_name": "t",
            "action_name": "n2",
            "worker_id": "m",
            "exit_code": 1,
        }
        | expected
    )


def test_a_cause_without_an_action_and_without_hooks_leaves_the_keys_out() -> None:
    bare = change.Cause(reason=change.Reason.CANCELLED, message="why")
    assert bare.as_document() == {"reason": "CANCELLED", "message": "why"}
    plain = change.Cause(reason=change.Reason.ACTION_FAILED, message="", action=action(0))
    assert not {"next", "exit_code"} & plain.as_document().keys()


@pytest.mark.parametrize("attempt", [0, 1])
@pytest.mark.parametrize("state", [RUNNING, SUCCEEDED, FAILED, TIMEOUT])
def test_a_repeated_report_changes_nothing_whatever_the_workflow_has_become(state: State, attempt: int) -> None:
    for flow in (workflow(), workflow(FAILED), workflow(SUCCEEDED)):
        assert report(flow, actions(state), heard(0, state, attempt=attempt)) == Changes((), 1)


@pytest.mark.parametrize(
    ("flow", "acts", "told", "part"),
    [
        (workflow(), actions(SUCCEEDED), heard(0, FAILED), "ended as SUCCEEDED"),
        (workflow(), actions(SUCCEEDED), heard(0, SUCCEEDED, attempt=2), "ended as SUCCEEDED"),
        (workflow(FAILED), actions(FAILED), heard(0, SUCCEEDED), "ended as FAILED"),
        (workflow(), actions(SUCCEEDED), heard(0, RUNNING), "ended as SUCCEEDED"),
        (workflow(CANCELLED), actions(CANCELLED), heard(0, SUCCEEDED), "ended as CANCELLED"),
        (workflow(CANCELLED), actions(PENDING), heard(0, RUNNING), "workflow has ended as CANCELLED"),
        (workflow(PENDING), actions(PENDING), heard(0, SUCCEEDED), "report RUNNING first"),
        (workflow(PENDING), actions(PENDING), heard(0, TIMEOUT), "report RUNNING first"),
        (workflow(), actions(RUNNING, PENDING), heard(1, RUNNING), "n0 of task t comes first, and is RUNNING"),
        (workflow(PENDING), actions(PENDING, PENDING), heard(1, RUNNING), "comes first, and is PENDING"),
        (workflow(), actions(RUNNING), heard(0, RUNNING, attempt=2), "attempt 1 is due"),
        (workflow(), [action(0, RUNNING, attempt=3)], heard(0, FAILED, attempt=2), "attempt 3 is due"),
        (workflow(), [action(0, PENDING, attempt=1)], heard(0, RUNNING, attempt=1), "attempt 2 is due"),
    ],
)
def test_what_the_states_do_not_allow_is_refused(
    flow: Workflow, acts: Sequence[Action], told: Report, part: str
) -> None:
    with pytest.raises(errors.IllegalTransition, match=part) as refused:
        report(flow, acts, told)
    assert refused.value.subject == f"action {told.action_id}"


@pytest.mark.parametrize("state", [PENDING, CANCELLED])
def test_some_states_are_never_reported(state: State) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        report(workflow(), actions(RUNNING), heard(0, state))
    assert refused.value.violations[0].field == "state"


def test_only_the_worker_of_the_action_may_report() -> None:
    for state in (PENDING, RUNNING, SUCCEEDED):
        with pytest.raises(errors.WrongWorker):
            report(workflow(), actions(state), heard(0, RUNNING, worker_id="other"))


def test_a_retried_action_starts_with_the_next_attempt() -> None:
    changes = report(workflow(), [action(0, PENDING, attempt=1)], heard(0, RUNNING, attempt=2))
    assert changes == Changes((StartAction("a0", 2, ""),), 2)


def test_an_action_is_named_by_its_id_or_by_its_names() -> None:
    acts = actions(PENDING, PENDING)
    assert transition.locate(acts, action_id="a1") is acts[1]
    assert transition.locate(acts, task_name="t", action_name="n1") is acts[1]
    assert transition.locate(acts, action_id="a1", task_name="t", action_name="n1") is acts[1]


@pytest.mark.parametrize(
    ("named", "error"),
    [
        ({}, errors.InvalidField),
        ({"task_name": "t"}, errors.InvalidField),
        ({"action_name": "n0"}, errors.InvalidField),
        ({"action_id": "a0", "task_name": "u"}, errors.InvalidField),
        ({"action_id": "a0", "action_name": "n1"}, errors.InvalidField),
        ({"action_id": "a9"}, errors.NotFound),
        ({"task_name": "t", "action_name": "n9"}, errors.NotFound),
    ],
)
def test_an_action_that_is_not_named_well_is_refused(named: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        transition.locate(actions(PENDING, PENDING), **named)


def test_cancelling_ends_what_is_not_finished_and_then_the_workflow() -> None:
    before = actions(SUCCEEDED, RUNNING, PENDING)
    cause = change.Cause(reason=change.Reason.CANCELLED, message="enough", action=before[1])
    assert transition.cancel(workflow(), before, "enough").steps == (
        EndAction("a1", CANCELLED, "enough"),
        EndAction("a2", CANCELLED, "enough"),
        EndWorkflow(CANCELLED, 1, cause),
    )


def test_cancelling_before_the_start_names_no_action() -> None:
    changes = transition.cancel(workflow(PENDING), actions(PENDING), "")
    assert cause(changes).as_document() == {"reason": "CANCELLED", "message": "the workflow was cancelled"}


@pytest.mark.parametrize("state", FINAL)
def test_cancelling_what_has_ended(state: State) -> None:
    if state is CANCELLED:
        assert transition.cancel(workflow(state), actions(CANCELLED), "") == Changes()
    else:
        with pytest.raises(errors.IllegalTransition, match=state):
            transition.cancel(workflow(state), actions(SUCCEEDED), "")


def test_time_changes_nothing_before_the_grace_after_a_running_actions_deadline_is_over() -> None:
    acts = [action(0, RUNNING, remaining_seconds=-0.5), action(1)]
    assert transition.expire(workflow(), acts) == Changes()
    assert transition.remaining_seconds(workflow(), acts) == deadline.GRACE_SECONDS - 0.5


def test_who_holds_no_lease_has_longer_to_say_how_it_ended() -> None:
    patience = deadline.grace(is_leased=False)
    assert patience > deadline.grace(is_leased=True) == deadline.GRACE_SECONDS
    acts = [action(0, RUNNING, remaining_seconds=1.0 - patience, grace_seconds=patience), action(1)]
    assert transition.expire(workflow(), acts) == Changes()
    assert transition.remaining_seconds(workflow(), acts) == 1.0
    late = [action(0, RUNNING, remaining_seconds=-patience, grace_seconds=patience), action(1)]
    assert cause(transition.expire(workflow(), late)).reason is change.Reason.ACTION_TIMEOUT


def test_a_running_action_whose_worker_is_silent_times_out_after_its_deadline() -> None:
    acts = [action(0, RUNNING, remaining_seconds=-1.0), action(1)]
    changes = transition.expire(workflow(remaining=50.0), acts)
    silent = "its deadline passed, and its worker did not say how it ended"
    assert changes.steps[:2] == (
        EndAction("a0", TIMEOUT, silent),
        EndAction("a1", CANCELLED, "not run, because action n0 of task t ended as TIMEOUT"),
    )
    assert cause(changes) == change.Cause(reason=change.Reason.ACTION_TIMEOUT, message=silent, action=acts[0])


def test_a_running_action_ends_with_its_workflows_deadline() -> None:
    acts = [action(0, RUNNING, remaining_seconds=30.0)]
    assert transition.remaining_seconds(workflow(remaining=2.0), acts) == 2.0 + deadline.GRACE_SECONDS
    changes = transition.expire(workflow(remaining=-1.0), acts)
    assert cause(changes).reason is change.Reason.GLOBAL_TIMEOUT


def test_a_workflow_whose_next_action_never_comes_ends_at_its_deadline() -> None:
    acts = [action(0, SUCCEEDED), action(1), action(2)]
    assert transition.expire(workflow(remaining=0.1), acts) == Changes()
    why = "the workflow's deadline passed while action n1 of task t waited for its worker"
    assert transition.expire(workflow(remaining=0.0), acts).steps == (
        EndAction("a1", CANCELLED, why),
        EndAction("a2", CANCELLED, why),
        EndWorkflow(TIMEOUT, 1, change.Cause(reason=change.Reason.GLOBAL_TIMEOUT, message=why)),
    )


@pytest.mark.parametrize("state", [PENDING, *FINAL])
def test_time_ends_only_what_runs(state: State) -> None:
    flow = workflow(state, remaining=-10.0)
    assert transition.expire(flow, actions(PENDING)) == Changes()
    assert transition.remaining_seconds(flow, actions(PENDING)) is None


def test_time_never_ends_a_workflow_without_limits() -> None:
    assert transition.expire(workflow(), actions(RUNNING)) == Changes()
    assert transition.remaining_seconds(workflow(), actions(RUNNING)) is None


def test_an_attempt_whose_owners_lease_is_over_is_lost_and_fails() -> None:
    acts = [action(0, SUCCEEDED), action(1, RUNNING, on_failure=("hook",), is_lost=True), action(2)]
    ended, rest, end = transition.expire(workflow(), acts).steps
    assert isinstance(ended, EndAction)
    assert (ended.action_id, ended.state, ended.message.split(":")[0]) == ("a1", FAILED, "lost")
    assert rest == EndAction("a2", CANCELLED, "not run, because action n1 of task t ended as FAILED")
    assert isinstance(end, EndWorkflow)
    assert (end.state, end.completed_actions) == (FAILED, 1)
    assert end.cause is not None
    cause = end.cause.as_document()
    assert (cause["reason"], cause["action_id"]) == ("ACTION_LOST", "a1")
    assert cause["next"] == {"on_failure": ["hook"]}


def test_an_attempt_that_is_lost_is_repeated_if_one_is_left() -> None:
    acts = [action(0, RUNNING, retries=1, retry_delay_seconds=7, is_lost=True)]
    (step,) = transition.expire(workflow(), acts).steps
    assert isinstance(step, RetryAction)
    assert (step.state, step.delay_seconds, step.message.split(":")[0]) == (FAILED, 7, "lost")


def test_a_deadline_that_is_past_says_more_than_that_the_attempt_is_lost() -> None:
    acts = [action(0, RUNNING, remaining_seconds=-2.0, is_lost=True)]
    assert transition.expire(workflow(), acts).steps[0].state is TIMEOUT  # type: ignore[union-attr]


def test_what_reboots_its_machine_is_not_lost_with_its_owners_lease() -> None:
    assert transition.expire(workflow(), [action(0, RUNNING, reboots=True, is_lost=True)]) == Changes()


def test_an_attempt_that_does_not_succeed_is_repeated_while_one_is_left() -> None:
    before = [action(0, SUCCEEDED), action(1, RUNNING, attempt=2, retries=2, retry_delay_seconds=7), action(2)]
    for state in (FAILED, TIMEOUT):
        changes = report(workflow(remaining=60.0), before, heard(1, state, message="broken", exit_code=3))
        assert changes == Changes((RetryAction("a1", state, "broken", 3, 14),), 2)
    last = [before[0], action(1, RUNNING, attempt=3, retries=2), before[2]]
    assert cause(report(workflow(), last, heard(1, FAILED))).reason is change.Reason.ACTION_FAILED


def test_a_silent_worker_costs_an_attempt_like_any_other_failure() -> None:
    silent = [action(0, RUNNING, retries=1, retry_delay_seconds=0, remaining_seconds=-1.0)]
    (step,) = transition.expire(workflow(remaining=60.0), silent).steps
    assert isinstance(step, RetryAction)
    assert (step.state, step.delay_seconds) == (TIMEOUT, 0)


@pytest.mark.parametrize("attempt", [0, 1])
def test_the_end_of_an_attempt_that_is_repeated_can_be_told_again(attempt: int) -> None:
    waiting = [action(0, PENDING, attempt=1, retries=1)]
    for state in (FAILED, TIMEOUT):
        assert report(workflow(), waiting, heard(0, state, attempt=attempt)) == Changes((), 1)
    with pytest.raises(errors.IllegalTransition, match="attempt 1 has ended, and the next one has not been started"):
        report(workflow(), waiting, heard(0, SUCCEEDED, attempt=attempt))


@pytest.mark.parametrize(
    ("state", "expected"), [(FAILED, "repair"), (TIMEOUT, "rescue"), (SUCCEEDED, ""), (CANCELLED, "")]
)
def test_an_end_without_success_names_what_recovers_the_workflow(state: State, expected: str) -> None:
    flow = Workflow(id="w", state=RUNNING, on_failure="repair", on_timeout="rescue")
    acts = actions(RUNNING)
    changes = transition.cancel(flow, acts, "") if state is CANCELLED else report(flow, acts, heard(0, state))
    end = changes.steps[-1]
    assert isinstance(end, EndWorkflow)
    assert end.recovery_template == expected


def test_a_deadline_between_two_actions_names_what_recovers_the_workflow() -> None:
    flow = Workflow(id="w", state=RUNNING, remaining_seconds=-1.0, on_timeout="rescue")
    end = transition.expire(flow, actions(SUCCEEDED, PENDING)).steps[-1]
    assert isinstance(end, EndWorkflow)
    assert end.recovery_template == "rescue"


def test_a_cause_says_what_recovers_the_workflow_or_why_nothing_does() -> None:
    started = change.Recovery(template="r", workflow_id="w2")
    failed = change.Recovery(template="r", error="it is gone")
    for recovery, expected in (
        (started, {"template": "r", "workflow_id": "w2"}),
        (failed, {"template": "r", "error": "it is gone"}),
    ):
        told = change.Cause(reason=change.Reason.ACTION_FAILED, message="", recovery=recovery)
        assert told.as_document()["recovery"] == expected
