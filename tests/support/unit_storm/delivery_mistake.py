"""Mistakes in how events are granted, what they see, and what they leave; `mistake` puts them into the rules."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from tinkwell.core.unit.effect import BagEdit
from tinkwell.core.unit.kinds import EventState, Owner
from tinkwell.core.unit.ledger import Ledger
from tinkwell.core.unit.resolver import sight
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View
from tinkwell.core.unit.world import change, delivery
from tinkwell.core.unit.world.state import State, Unit

# A function of the rules, or what stands in for it: they have too many shapes for one type.
Rule: TypeAlias = Callable[..., Any]


def code_of_today(right: Rule) -> Rule:
    return lambda event, view, **kwargs: right(event, replace(view, code=view.charm), **kwargs)


def seen_of_first(right: Rule) -> Rule:
    """Have an attempt after the first one see what that one saw."""
    return lambda event, view, **kwargs: event if event.seen.charm else right(event, view, **kwargs)


def config_of_commit(right: Rule) -> Rule:
    return lambda ledger, event, view: replace(right(ledger, event, view), config_seen=view.config_version)


def bag_of_commit(right: Rule) -> Rule:
    def with_member(ledger: Ledger, event: UnitEvent, view: View) -> Any:
        now = sight._bag(event, view)
        return right(ledger, replace(event, seen=replace(event.seen, bag=now)), view)

    return with_member


def one_term(right: Rule) -> Rule:
    def elect(state: State, application: Any) -> str:
        term = application.term
        leader: str = right(state, application)
        application.term = max(term, 1)
        return leader

    return elect


def overtaken(right: Rule) -> Rule:
    """Grant another event while one is in ERROR."""

    def grant(state: State, unit: Unit, *, may_retry: bool = True) -> Any:
        if unit.running is not None and unit.running.state is EventState.ERROR and not may_retry:
            unit.running = None
        return right(state, unit, may_retry=may_retry)

    return grant


def ordinal_again(right: Rule) -> Rule:
    def withdraw(state: State, unit: Unit) -> None:
        right(state, unit)
        unit.next_ordinal -= 1

    return withdraw


def written_by_failures(right: Rule) -> Rule:
    def fail(state: State, unit: Unit, message: str) -> None:
        edits = tuple(
            BagEdit(relation=number, owner=Owner.UNIT, edits={"key": message})
            for number, told in unit.ledger.relations.items()
            if not told.broken and number in state.relations
        )
        delivery._write(state, unit, state.applications[unit.application], edits)
        right(state, unit, message)

    return fail


def elected_once(right: Rule) -> Rule:
    return lambda state, application: "" if application.term else right(state, application)


def second_in_flight(right: Rule) -> Rule:
    def grant(state: State, unit: Unit, *, may_retry: bool = True) -> Any:
        if unit.running is not None and unit.running.is_lost:
            unit.running = None
        return right(state, unit, may_retry=may_retry)

    return grant


def force_forgotten(right: Rule) -> Rule:
    def force(state: State, unit: Unit) -> None:
        unit.is_forced = True
        change.let_die(state, unit)

    return force
