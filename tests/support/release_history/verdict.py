"""The promises about releases as a judgement over a recorded run.

L1   releases, operations, nodes and steps take only steps of their tables, with their events
L2   versions grow
L3   a release has one operation at a time, whose nodes and steps move while it runs, and which ends when they have
L4   nodes begin in the order of the plan, removals last, and steps one after the other while their node is begun
T1   attempts of a step are counted from 1 without gaps
T2   the script of an attempt begins once at most, after it was recorded that it runs, and not after its end was
T3   what is reported of an attempt's end is how its script ended
E1   no two calls that may change a resource are alive at once; but on another engine one may be that was given up
E2   no action of a resource begins in an operation in which it is READY
X1   what runs is lost only on another engine; then it has failed where it is STALE, and has not where it is VALID
C1   what waits for a chart begins after that is ready, and after what that waits for
C2   a batch begins after the former has ended, and at least a chart's own resources after all that have an edge
C3   what is in a chart begins after it, and ends before it
C4   what is removed goes in the reverse of the order in which it was installed last
H1   what is emitted in the life of charts comes in the order of its operation
H2   each event of a chart is emitted once in an operation, or again only before there is a plan
H3   events and hooks begin before or after all that is in their chart, and hooks after their event
H4   all that is due was emitted where an operation succeeds, and nothing comes after what failed
O1   every operation ends
O2   it ends as it was meant to, and for that reason, and then resources hold what they are to hold
O3   nothing of it is left behind
O4   the events with the plans tell the state of every node
"""

from collections.abc import Iterator

from support.history.record import Violation
from support.release_history import effect, life, lost, order
from support.release_history.record import History, Plan, is_of_hook
from support.release_history.world import Operation, World
from tinkwell.core.event.kinds import State
from tinkwell.core.release.cause import Reason


def judge(history: History) -> list[Violation]:
    """Return every violation of the promises in a run."""
    world = World(history.events, history.nodes)
    found = list(world.violations)
    found += effect.check(history.events, history.effects)
    found += lost.check(history.events, history.nodes, history.effects, history.holds, history.accepting)
    found += order.check(history.events, history.nodes, history.plans)
    found += life.check(history.events, history.nodes, history.plans, history.emissions, history.kinds)
    for plan in history.plans:
        found += _check_outcome(plan, world.operations.get(plan.operation_id))
    known = {plan.operation_id for plan in history.plans}
    found += [Violation("O2", f"operation {id_}", "nobody has meant it") for id_ in world.operations.keys() - known]
    found += _check_contents(history)
    found += [Violation("O3", "leftover", text) for text in history.leftovers]
    return found + list(_check_nodes(history, world))


def _check_outcome(plan: Plan, operation: Operation | None) -> Iterator[Violation]:
    who = f"release {plan.release}, operation {plan.operation_id}"
    if operation is None:
        yield Violation("O1", who, "has no event")
    elif not operation.state.is_final:
        states = ", ".join(f"{path} {node.state}" for path, node in operation.nodes.items())
        yield Violation("O1", who, f"is {operation.state} in the end; its nodes are {states}")
    elif operation.state is State.FAILED and operation.reason == Reason.STEP_LOST:
        return
    elif operation.state not in plan.ends:
        meant = " or ".join(sorted(plan.ends))
        why = f"{operation.reason} at {operation.culprit or 'no node'}"
        yield Violation("O2", who, f"ended as {operation.state} by {why}, and was meant to end as {meant}")
    elif operation.state is State.FAILED and life.is_prepared(plan.culprit):
        if operation.reason != Reason.PREPARATION_FAILED:
            yield Violation("O2", who, f"ended by {operation.reason}, and was meant to end by {plan.culprit}")
    elif operation.state is State.FAILED and operation.culprit != plan.culprit:
        yield Violation("O2", who, f"ended by {operation.culprit}, and was meant to end by {plan.culprit}")


def _check_contents(history: History) -> Iterator[Violation]:
    for release, wanted in history.wanted.items():
        found = history.found.get(release, {})
        for path in sorted(wanted.keys() | found.keys()):
            # Nothing takes away what a hook has made.
            if not is_of_hook(path) and wanted.get(path) != found.get(path):
                text = f"{path} holds {found.get(path, 'nothing')!r}, not {wanted.get(path, 'nothing')!r}"
                yield Violation("O2", f"release {release}", text)


def _check_nodes(history: History, world: World) -> Iterator[Violation]:
    told = world.node_states()
    for node in history.nodes:
        state = told.get((node.operation_id, node.path))
        if state is not node.state:
            text = f"{node.path} is {node.state}, and its events say {state}"
            yield Violation("O4", f"operation {node.operation_id}", text)
