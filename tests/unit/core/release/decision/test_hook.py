"""What becomes of a hook whose action a former owner has left: how often it is tried its image has yet to say."""

from dataclasses import replace
from typing import Any

import pytest
from unit.core.release_model import ACTION, FAILED, INIT, INSTALLING, OPERATION_ID, PENDING, RUNNING, STATE, SUCCEEDED
from unit.core.release_model import plan as plan_of

from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision import outcome
from tinkwell.core.release.decision.command import MoveNode, StartStep, StopStep
from tinkwell.core.release.decision.decide import decide
from tinkwell.core.release.decision.outcome import Outcome
from tinkwell.core.release.decision.view import (
    InitFacts,
    NodeSpec,
    NodeView,
    OperationView,
    Retry,
    Settings,
    StepKey,
    StepView,
)
from tinkwell.core.release.kinds import NodeKind, NodeState, PlanKind, StepKind
from tinkwell.core.release.plan import PlanNode
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import Call

PATH = "h@pre-install"
CREATE = Call(name="create")
PLAN = plan_of(
    PlanNode(path="/pre-install", kind=PlanKind.EVENT),
    PlanNode(path=PATH, kind=PlanKind.HOOK, after=("/pre-install",)),
)
STATE_CALL = Call(name="state")


def facts(retry: Retry | None) -> InitFacts:
    return InitFacts(state_call=STATE_CALL, settings=Settings(retry=retry))


def step(ordinal: int, kind: StepKind, state: State, **fields: Any) -> StepView:
    return StepView(ordinal=ordinal, kind=kind, state=state, attempt=1, call=CREATE, **fields)


def view(*steps: StepView, init: InitFacts | None = None, said: Retry | None = None, **fields: Any) -> OperationView:
    """Return the view of an operation that was taken over; `said` is what the manifest says of retries."""
    event = NodeView(path="/pre-install", kind=NodeKind.EVENT, state=NodeState.READY, spec=NodeSpec(type=""))
    hook = NodeView(
        path=PATH,
        kind=NodeKind.HOOK,
        state=INSTALLING,
        spec=NodeSpec(type="image", settings=Settings(retry=said)),
        init=init,
        steps=steps,
    )
    return OperationView(
        id=OPERATION_ID,
        plan=PLAN,
        nodes={event.path: event, PATH: hook},
        options=Options(),
        remaining_seconds=100.0,
        **fields,
    )


ASKED = step(1, STATE, SUCCEEDED, is_former=True)
ADOPTED = step(2, ACTION, RUNNING, is_former=True)
LEFT = replace(ADOPTED, state=PENDING, exit_code=7, message="no")
NO_SUCCESS = Outcome(state=FAILED, exit_code=7, message="no")


def ended(found: OperationView) -> StepView:
    return outcome.end(found, StepKey(PATH, 2), NO_SUCCESS).view.step(StepKey(PATH, 2))


def test_an_adopted_action_that_fails_waits_for_what_its_image_says() -> None:
    assert ended(view(ASKED, ADOPTED)) == replace(LEFT, wait_seconds=0.0)
    [command] = decide(view(ASKED, LEFT), ())
    assert isinstance(command, StartStep)
    assert (command.step, command.kind) == (StepKey(PATH, 3), INIT)


@pytest.mark.parametrize(
    ("more", "state"),
    [({"said": Retry(attempts=1)}, FAILED), ({"said": Retry(attempts=2)}, PENDING), ({"cancel_seconds": 9.0}, FAILED)],
    ids=["the manifest allows one attempt", "the manifest allows another", "the operation was cancelled"],
)
def test_it_does_not_wait_where_that_is_known(more: dict[str, Any], state: State) -> None:
    assert ended(view(ASKED, ADOPTED, **more)).state is state


def test_it_is_brought_about_anew_where_the_image_has_it_tried_again() -> None:
    known = step(3, INIT, SUCCEEDED)
    found = view(ASKED, LEFT, known, init=facts(Retry(attempts=3)))
    assert decide(found, ()) == [StopStep(step=StepKey(PATH, 2), reason="its round is over")]


@pytest.mark.parametrize("retry", [None, Retry(attempts=1), Retry(attempts=3, exit_codes=(75,))])
def test_it_has_failed_where_the_image_does_not_have_it_tried_again(retry: Retry | None) -> None:
    found = view(ASKED, LEFT, step(3, INIT, SUCCEEDED), init=facts(retry))
    [command] = decide(found, ())
    assert command == MoveNode(
        path=PATH, state=NodeState.FAILED, changed=True, message="action create FAILED (exit 7): no"
    )


def test_it_has_failed_where_the_image_cannot_be_asked() -> None:
    [command] = decide(view(ASKED, LEFT, step(3, INIT, FAILED, message="no such image")), ())
    assert isinstance(command, MoveNode)
    assert command.state is NodeState.FAILED


def test_an_action_that_was_never_begun_is_over_with_its_round() -> None:
    never = replace(ADOPTED, state=PENDING, attempt=0)
    assert decide(view(ASKED, never), ()) == [StopStep(step=StepKey(PATH, 2), reason="its round is over")]
    assert decide(view(ASKED, ADOPTED), [StepKey(PATH, 2)]) == []
