"""Mistakes in what a unit is told from its setup to its end, relations apart; `mistake` puts them into the rules."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from tinkwell.core.unit.kinds import EventKind, Life, StepKind
from tinkwell.core.unit.ledger import Ledger, SetupStep
from tinkwell.core.unit.resolver import resolve
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View

# A function of the rules, or what stands in for it: they have too many shapes for one type.
Rule: TypeAlias = Callable[..., Any]


def planned(*kinds: StepKind) -> Callable[[Rule], Rule]:
    """Plan a setup of other steps; the relations are created first, if at all."""

    def wrong(right: Rule) -> Rule:
        def installed(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
            after: Ledger = right(ledger, event, view)
            created = [step for step in after.plan if step.kind is StepKind.RELATION_CREATED and step.kind in kinds]
            others = [SetupStep(kind) for kind in kinds if kind is not StepKind.RELATION_CREATED]
            return replace(after, plan=(*created, *others))

        return installed

    return wrong


def created_meanwhile(right: Rule) -> Rule:
    def step_event(step: SetupStep, ledger: Ledger, view: View) -> UnitEvent | None:
        new = resolve._creation(ledger, view) if step.kind is StepKind.CONFIG_CHANGED else None
        return new or right(step, ledger, view)

    return step_event


def told_settings(right: Rule) -> Rule:
    def step_event(step: SetupStep, ledger: Ledger, view: View) -> UnitEvent | None:
        event: UnitEvent | None = right(step, ledger, view)
        is_elected = event is not None and event.kind is EventKind.LEADER_ELECTED
        return UnitEvent(kind=EventKind.LEADER_SETTINGS_CHANGED) if is_elected else event

    return step_event


def tick_first(right: Rule) -> Rule:
    def next_(ledger: Ledger, view: View) -> UnitEvent | None:
        is_due = view.is_tick_due and ledger.started and view.life is Life.ALIVE
        event: UnitEvent | None = right(ledger, view)
        return UnitEvent(kind=EventKind.UPDATE_STATUS) if is_due else event

    return next_


def tick_after_all(right: Rule) -> Rule:
    def next_(ledger: Ledger, view: View) -> Any:
        if view.is_tick_due and view.is_dying and ledger.started:
            return UnitEvent(kind=EventKind.UPDATE_STATUS)
        return right(ledger, view)

    return next_


def teardown(order: Callable[[Ledger, View], UnitEvent | None]) -> Callable[[Rule], Rule]:
    """Ask something else before a teardown."""
    return lambda right: lambda ledger, view: order(ledger, view) or right(ledger, view)


def stop_first(ledger: Ledger, view: View) -> UnitEvent | None:
    return UnitEvent(kind=EventKind.STOP) if ledger.started and not ledger.stopped else None


def stop_always(ledger: Ledger, view: View) -> UnitEvent | None:
    is_due = ledger.installed and not ledger.started and not ledger.stopped
    return UnitEvent(kind=EventKind.STOP) if is_due else None


def remove_always(right: Rule) -> Rule:
    return lambda ledger, view: right(replace(ledger, installed=True), view)


def storage_kept(right: Rule) -> Rule:
    return lambda ledger, view: right(replace(ledger, attached=frozenset()), view)


def no_settings(right: Rule) -> Rule:
    return lambda ledger, view: right(ledger, view) if view.leads else None


def post_first(right: Rule) -> Rule:
    def request(ledger: Ledger, view: View) -> UnitEvent | None:
        event: UnitEvent | None = right(ledger, view)
        is_pre = event is not None and event.kind is EventKind.PRE_SERIES_UPGRADE
        return UnitEvent(kind=EventKind.POST_SERIES_UPGRADE) if is_pre else event

    return request


def upgraded_without_start(right: Rule) -> Rule:
    def upgraded(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
        after: Ledger = right(ledger, event, view)
        return replace(after, queue=after.queue[:1])

    return upgraded


def died_in_setup(right: Rule) -> Rule:
    """Go on with the setup of a unit that is to go."""

    def next_(ledger: Ledger, view: View) -> Any:
        return right(ledger, replace(view, life=Life.ALIVE) if ledger.plan and view.life is Life.DYING else view)

    return next_


def leader_first(right: Rule) -> Rule:
    def installed(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
        after: Ledger = right(ledger, event, view)
        return replace(after, plan=tuple(sorted(after.plan, key=lambda step: step.kind is not StepKind.LEADER)))

    return installed


def install_first(right: Rule) -> Rule:
    return lambda ledger, view: right(ledger, view) if ledger.installed else None


def tick_in_setup(right: Rule) -> Rule:
    def next_(ledger: Ledger, view: View) -> UnitEvent | None:
        is_due = view.is_tick_due and ledger.installed and view.life is Life.ALIVE
        event: UnitEvent | None = right(ledger, view)
        return UnitEvent(kind=EventKind.UPDATE_STATUS) if is_due else event

    return next_


def installed_again(right: Rule) -> Rule:
    return lambda ledger, event, view: replace(right(ledger, event, view), installed=False)
