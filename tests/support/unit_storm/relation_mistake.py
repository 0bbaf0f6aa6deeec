"""Mistakes in what a unit is told of its relations; `mistake` puts them into the rules."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from tinkwell.core.unit.kinds import Life, Profile
from tinkwell.core.unit.ledger import RelationLedger
from tinkwell.core.unit.resolver import relation
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import MemberView, RelationView, View

# A function of the rules, or what stands in for it: they have too many shapes for one type.
Rule: TypeAlias = Callable[..., Any]


def without_queue(right: Rule) -> Rule:
    return lambda ledger, event, view: replace(right(ledger, event, view), queue=())


def peers_first(right: Rule) -> Rule:
    return lambda view, number: not right(view, number)


def broken_at_once(right: Rule) -> Rule:
    def ending(relation_: RelationView, told: RelationLedger, view: View) -> Any:
        return right(relation_, replace(told, members={}) if not relation_.is_peer else told, view)

    return ending


def peers_broken(right: Rule) -> Rule:
    return lambda relation_, told, view: right(replace(relation_, is_peer=False), told, view)


def never_left(right: Rule) -> Rule:
    def look(relation_: RelationView, told: RelationLedger, view: View) -> tuple[str, str, str]:
        return ("", *right(relation_, told, view)[1:])

    return look


def joined_again(right: Rule) -> Rule:
    """Have a unit forget who departed, and meet those who are leaving."""

    def look(relation_: RelationView, told: RelationLedger, view: View) -> tuple[str, str, str]:
        left, joined, changed = right(relation_, told, view)
        gone = [unit for unit, member in relation_.members.items() if member.is_gone and unit not in told.members]
        return left, joined or min(gone, default=""), changed

    return look


def meets_older(right: Rule) -> Rule:
    def meets(relation_: RelationView, member: MemberView, view: View) -> bool:
        return True if view.profile is Profile.LITERAL else right(relation_, member, view)

    return meets


def meets_siblings(right: Rule) -> Rule:
    return lambda relation_, member, view: right(relation_, member, replace(view, profile=Profile.LITERAL))


def meets_no_siblings(right: Rule) -> Rule:
    return lambda relation_, member, view: right(relation_, member, replace(view, profile=Profile.JUJU))


def created_twice(right: Rule) -> Rule:
    def creation(relation_: RelationView, told: RelationLedger) -> Any:
        return right(relation_, replace(told, created=told.created and bool(told.members)))

    return creation


def echo_of_all(right: Rule) -> Rule:
    return lambda ledger, relation_, written: ledger


def reaped_early(right: Rule) -> Rule:
    return lambda state, relation_: relation_.life is not Life.ALIVE


def changed_first(right: Rule) -> Rule:
    """Tell of the bag of a member that has not joined."""

    def look(relation_: RelationView, told: RelationLedger, view: View) -> tuple[str, str, str]:
        left, joined, changed = right(relation_, told, view)
        has_written = bool(joined) and relation_.members[joined].version > 0
        return (left, "", joined) if has_written else (left, joined, changed)

    return look


def broken_when_lonely(right: Rule) -> Rule:
    def operation(relation_: RelationView, told: RelationLedger, view: View) -> UnitEvent | None:
        is_lonely = relation_.own_version > 0 and not relation_.is_peer and not told.members
        return relation.ending(relation_, told, view) if is_lonely else right(relation_, told, view)

    return operation
