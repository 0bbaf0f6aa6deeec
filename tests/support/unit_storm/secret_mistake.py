"""Mistakes that can be made in the rules of secrets and tasks, as what stands in for the right rule."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from tinkwell.core.unit.kinds import EventKind, Life, TaskState
from tinkwell.core.unit.ledger import Ledger
from tinkwell.core.unit.resolver import secret
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import SecretView, View
from tinkwell.core.unit.world import task
from tinkwell.core.unit.world.state import Secret, State, Task, Unit

_K = EventKind
# A function of the rules, or what stands in for it: they have too many shapes for one type.
Rule: TypeAlias = Callable[..., Any]


def told_again(right: Rule) -> Rule:
    """Forget which revision was told."""
    return lambda ledger, event, view: ledger


def told_to_owner(right: Rule) -> Rule:
    """Tell a unit of the revisions that it has made itself."""

    def changed(ledger: Ledger, view: View) -> Iterator[UnitEvent]:
        seen = {name: replace(each, is_owner=False) for name, each in view.secrets.items()}
        yield from right(ledger, replace(view, secrets=seen))

    return changed


def owned_by_followers(right: Rule) -> Rule:
    """Have every unit own what its application owns."""
    return lambda found, unit, leads: right(found, unit, leads=True)


def granted_to_all(right: Rule) -> Rule:
    """Have each grant be everybody's."""
    return lambda state, unit, granted: True


def told_in_setup(right: Rule) -> Rule:
    """Tell of secrets before the setup is over."""

    def next_(ledger: Ledger, view: View) -> UnitEvent | None:
        is_early = ledger.installed and not ledger.started and view.life is Life.ALIVE
        event: UnitEvent | None = right(ledger, view)
        return (secret.operation(ledger, view) if is_early else None) or event

    return next_


def newest_is_unread(right: Rule) -> Rule:
    """Tell an owner that nobody reads the newest revision."""

    def owned(ledger: Ledger, view: View) -> Iterator[UnitEvent]:
        yield from right(ledger, view)
        for name, each in view.secrets.items():
            told = ledger.secrets.get(name)
            if each.is_owner and (told is None or each.latest not in told.removed):
                yield UnitEvent(kind=_K.SECRET_REMOVE, secret=name, revision=each.latest)

    return owned


def rotated_unasked(right: Rule) -> Rule:
    """Have all secrets be rotated."""

    def view(state: State, unit: Unit, found: Secret, *, leads: bool) -> SecretView:
        seen: SecretView = right(state, unit, found, leads=leads)
        return replace(seen, is_rotation_due=seen.is_rotation_due or found.rotates_at is None)

    return view


def run_before_start(right: Rule) -> Rule:
    """Give a unit tasks as soon as it is installed."""

    def next_task(ledger: Ledger, view: View, *, has_error: bool = False) -> str:
        is_early = ledger.installed and view.life is Life.ALIVE
        found: str = right(ledger, view, has_error=has_error)
        return found or (view.task if is_early and not ledger.started else "")

    return next_task


def run_between(right: Rule) -> Rule:
    """Give a unit tasks between two events that follow each other at once."""
    return lambda ledger, view, has_error=False: right(replace(ledger, queue=()), view, has_error=has_error)


def run_at_once(right: Rule) -> Rule:
    """Begin a task when it is asked for."""

    def ask(state: State, unit: Unit, **about: Any) -> Task:
        asked: Task = right(state, unit, **about)
        return task.become(state, asked, TaskState.RUNNING)

    return ask
