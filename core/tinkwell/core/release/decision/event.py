"""The next command for the events of charts: each is emitted once it has begun, and again if that was interrupted.

Handlers have no effects of their own, so repeating them is harmless. Only the result of an event is stored.
"""

from collections.abc import Collection, Sequence

from tinkwell.core.release import walk
from tinkwell.core.release.decision.command import Command, Emit, MoveNode, StopEmit
from tinkwell.core.release.decision.view import NodeView, OperationView, StepKey, begun_state, event_key


def begin(view: OperationView, survey: walk.Survey) -> Sequence[MoveNode]:
    """Return the moves of events that begin, in the order of the plan."""
    return [MoveNode(path=path, state=begun_state(view.nodes[path])) for path in survey.audible()]


def proceed(events: Sequence[NodeView], running: Collection[StepKey], *, is_stopped: bool) -> Sequence[Command]:
    """Return the commands for events that have not ended; with `is_stopped` the running ones are stopped."""
    commands: list[Command] = []
    for node in events:
        if node.state not in walk.BEGUN:
            continue
        if event_key(node.path) not in running:
            commands += [] if is_stopped else [Emit(node.path)]
        elif is_stopped:
            commands.append(StopEmit(node.path))
    return commands
