"""What is next for the events of charts: each is emitted once it has begun, and again where that was cut off.

Handlers have no effects of their own, so nothing is lost by that. Nothing of an event is stored but how it went by.
"""

from collections.abc import Collection, Sequence

from tinkwell.core.release import walk
from tinkwell.core.release.decision.command import Command, Emit, MoveNode, StopEmit
from tinkwell.core.release.decision.view import NodeView, OperationView, StepKey, begun_state, event_key


def begin(view: OperationView, survey: walk.Survey) -> Sequence[MoveNode]:
    """Return the events that begin, in the order of the plan."""
    return [MoveNode(path=path, state=begun_state(view.nodes[path])) for path in survey.audible()]


def proceed(events: Sequence[NodeView], running: Collection[StepKey], *, is_stopped: bool) -> Sequence[Command]:
    """Return what becomes of events that have not ended: once nothing begins any more, those that run are stopped."""
    commands: list[Command] = []
    for node in events:
        if node.state not in walk.BEGUN:
            continue
        if event_key(node.path) not in running:
            commands += [] if is_stopped else [Emit(node.path)]
        elif is_stopped:
            commands.append(StopEmit(node.path))
    return commands
