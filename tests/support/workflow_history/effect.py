"""Whether runs kept out of each other's way, and came in the order of their actions, by what they wrote down."""

from collections.abc import Iterator, Mapping, Sequence

from support.history.record import Violation
from support.workflow_history.record import Effect, Mark
from support.workflow_history.world import Workflow


def check(effects: Sequence[Effect], workflows: Mapping[str, Workflow]) -> Iterator[Violation]:
    """Yield what is wrong."""
    yield from _check_marks(effects)
    yield from _check_intervals(effects)
    yield from _check_order(effects, workflows)


def _check_marks(effects: Sequence[Effect]) -> Iterator[Violation]:
    """What runs noticed themselves: a lock that is let go only when its holder dies was held by another one."""
    for effect in effects:
        if effect.mark is Mark.SAME_ACTION:
            yield _violation("E1", effect, "began while another run of the action was alive")
        elif effect.mark is Mark.SAME_MACHINE:
            yield _violation("E2", effect, f"began while another run was alive on machine {effect.worker_id}")


def _check_intervals(effects: Sequence[Effect]) -> Iterator[Violation]:
    """The same from the journal alone: who has written an end was alive since its beginning."""
    ended = {(effect.action_id, effect.attempt) for effect in effects if effect.mark is Mark.END}
    alive: dict[tuple[str, int], Effect] = {}
    for effect in effects:
        key = effect.action_id, effect.attempt
        if effect.mark is Mark.END:
            alive.pop(key, None)
        elif effect.mark is Mark.BEGIN:
            for other in alive.values():
                if other.action_id == effect.action_id:
                    yield _violation("E1", effect, f"began while attempt {other.attempt} ran")
                elif other.worker_id == effect.worker_id:
                    text = f"began on machine {effect.worker_id} while action {other.action_id} ran there"
                    yield _violation("E2", effect, text)
            if key in ended:
                alive[key] = effect


def _check_order(effects: Sequence[Effect], workflows: Mapping[str, Workflow]) -> Iterator[Violation]:
    """An action begins when the one before it has ended well, and never again once a later one has begun."""
    indexes = {action.id: action.index for workflow in workflows.values() for action in workflow.actions.values()}
    done: dict[str, set[int]] = {}
    furthest: dict[str, int] = {}
    for effect in effects:
        index = indexes.get(effect.action_id)
        if index is None:
            yield _violation("E3", effect, "ran, and has no event")
        elif effect.mark is Mark.END and effect.exit_code == 0:
            done.setdefault(effect.workflow_id, set()).add(index)
        elif effect.mark is Mark.BEGIN:
            missing = set(range(index)) - done.get(effect.workflow_id, set())
            if missing:
                yield _violation("E3", effect, f"action {index} began before the actions {sorted(missing)} had ended")
            if index < furthest.get(effect.workflow_id, 0):
                text = f"action {index} began after action {furthest[effect.workflow_id]} had begun"
                yield _violation("E3", effect, text)
            furthest[effect.workflow_id] = max(index, furthest.get(effect.workflow_id, 0))


def _violation(rule: str, effect: Effect, text: str) -> Violation:
    what = f"action {effect.action_id}, attempt {effect.attempt}"
    return Violation(rule, f"workflow {effect.workflow_id}", f"{what}: {text}")
