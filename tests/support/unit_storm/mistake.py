"""Mistakes that can be made in the rules of units, put into them one at a time: the invariants must find each.

Each is named by what goes wrong, with the invariant that it must be found by.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from unittest import mock

from support.unit_storm import secret_mistake as of_secrets
from support.unit_storm.storm import Storm
from tinkwell.core.unit.effect import BagEdit
from tinkwell.core.unit.invariant import Violation
from tinkwell.core.unit.kinds import EventKind, EventState, Life, Owner, Profile, StepKind
from tinkwell.core.unit.ledger import Ledger, RelationLedger, SetupStep
from tinkwell.core.unit.resolver import advance, relation, resolve, secret, sight
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import MemberView, RelationView, View
from tinkwell.core.unit.world import change, delivery, task
from tinkwell.core.unit.world import secret as world_secret
from tinkwell.core.unit.world import sight as world_sight
from tinkwell.core.unit.world.state import State, Unit

_K = EventKind
# Storms that have shown mistakes in little time, where the first ones take long; they are tried before those.
_FIRST = {
    "install comes again": (37,),
    "a relation is created again": (33,),
    "who is leaving joins again": (5,),
    "update-status comes first": (39,),
    "post-series-upgrade comes first": (29,),
    "later attempts see what the first one saw": (9,),
    "nobody is told of younger siblings": (15,),
    "there is no echo": (4,),
}
# A function of the rules, or what stands in for it: they have too many shapes for one type.
Rule: TypeAlias = Callable[..., Any]
Made: TypeAlias = Callable[[], contextlib.AbstractContextManager[object]]


@dataclass(frozen=True)
class Mistake:
    """`made` puts it in place, while its context lasts."""

    invariant: str
    text: str
    made: Made

    def is_found(self, *, storms: int) -> bool:
        """Return whether one of some storms shows the violation that the mistake is to be found by."""
        return any(self.invariant in {one.invariant for one in found} for found in self._storms(storms))

    def _storms(self, storms: int) -> Iterator[list[Violation]]:
        for seed in (*_FIRST.get(self.text, ()), *range(storms)):
            for profile in Profile:
                storm = Storm(seed=seed, profile=profile, most_steps=3_000)
                with self.made():
                    try:
                        yield storm.run()
                    except (AssertionError, LookupError):
                        # It goes on for ever, or looks for what is gone: what was told until then is judged.
                        yield storm.world.check()


def _in(module: Any, name: str, wrong: Callable[[Rule], Rule]) -> Made:
    """Have what `wrong` makes of a function stand in for it."""
    return lambda: mock.patch.object(module, name, wrong(getattr(module, name)))


def _at(kind: EventKind, wrong: Callable[[Rule], Rule]) -> Made:
    """Have what `wrong` makes of a kind's rule stand in for it, which gives the ledger after it."""
    return lambda: mock.patch.dict(advance._RULES, {kind: wrong(advance._RULES[kind])})


def _always(value: Any) -> Callable[[Rule], Rule]:
    return lambda _: lambda *_, **__: value


def _planned(*kinds: StepKind) -> Callable[[Rule], Rule]:
    """Plan a setup of other steps; the relations are created first, if at all."""

    def wrong(right: Rule) -> Rule:
        def installed(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
            after: Ledger = right(ledger, event, view)
            created = [step for step in after.plan if step.kind is StepKind.RELATION_CREATED and step.kind in kinds]
            others = [SetupStep(kind) for kind in kinds if kind is not StepKind.RELATION_CREATED]
            return replace(after, plan=(*created, *others))

        return installed

    return wrong


def _without_queue(right: Rule) -> Rule:
    return lambda ledger, event, view: replace(right(ledger, event, view), queue=())


def _created_meanwhile(right: Rule) -> Rule:
    def step_event(step: SetupStep, ledger: Ledger, view: View) -> UnitEvent | None:
        new = resolve._creation(ledger, view) if step.kind is StepKind.CONFIG_CHANGED else None
        return new or right(step, ledger, view)

    return step_event


def _told_settings(right: Rule) -> Rule:
    def step_event(step: SetupStep, ledger: Ledger, view: View) -> UnitEvent | None:
        event: UnitEvent | None = right(step, ledger, view)
        is_elected = event is not None and event.kind is _K.LEADER_ELECTED
        return UnitEvent(kind=_K.LEADER_SETTINGS_CHANGED) if is_elected else event

    return step_event


def _tick_first(right: Rule) -> Rule:
    def next_(ledger: Ledger, view: View) -> UnitEvent | None:
        is_due = view.is_tick_due and ledger.started and view.life is Life.ALIVE
        event: UnitEvent | None = right(ledger, view)
        return UnitEvent(kind=_K.UPDATE_STATUS) if is_due else event

    return next_


def _tick_after_all(right: Rule) -> Rule:
    def next_(ledger: Ledger, view: View) -> Any:
        if view.is_tick_due and view.is_dying and ledger.started:
            return UnitEvent(kind=_K.UPDATE_STATUS)
        return right(ledger, view)

    return next_


def _teardown(order: Callable[[Ledger, View], UnitEvent | None]) -> Callable[[Rule], Rule]:
    """Ask something else before a teardown."""
    return lambda right: lambda ledger, view: order(ledger, view) or right(ledger, view)


def _stop_first(ledger: Ledger, view: View) -> UnitEvent | None:
    return UnitEvent(kind=_K.STOP) if ledger.started and not ledger.stopped else None


def _stop_always(ledger: Ledger, view: View) -> UnitEvent | None:
    is_due = ledger.installed and not ledger.started and not ledger.stopped
    return UnitEvent(kind=_K.STOP) if is_due else None


def _remove_always(right: Rule) -> Rule:
    return lambda ledger, view: right(replace(ledger, installed=True), view)


def _peers_first(right: Rule) -> Rule:
    return lambda view, number: not right(view, number)


def _storage_kept(right: Rule) -> Rule:
    return lambda ledger, view: right(replace(ledger, attached=frozenset()), view)


def _code_of_today(right: Rule) -> Rule:
    return lambda event, view, **kwargs: right(event, replace(view, code=view.charm), **kwargs)


def _seen_of_first(right: Rule) -> Rule:
    """Have an attempt after the first one see what that one saw."""
    return lambda event, view, **kwargs: event if event.seen.charm else right(event, view, **kwargs)


def _config_of_commit(right: Rule) -> Rule:
    return lambda ledger, event, view: replace(right(ledger, event, view), config_seen=view.config_version)


def _bag_of_commit(right: Rule) -> Rule:
    def with_member(ledger: Ledger, event: UnitEvent, view: View) -> Any:
        now = sight._bag(event, view)
        return right(ledger, replace(event, seen=replace(event.seen, bag=now)), view)

    return with_member


def _broken_at_once(right: Rule) -> Rule:
    def ending(relation_: RelationView, told: RelationLedger, view: View) -> Any:
        return right(relation_, replace(told, members={}) if not relation_.is_peer else told, view)

    return ending


def _peers_broken(right: Rule) -> Rule:
    return lambda relation_, told, view: right(replace(relation_, is_peer=False), told, view)


def _never_left(right: Rule) -> Rule:
    def look(relation_: RelationView, told: RelationLedger, view: View) -> tuple[str, str, str]:
        return ("", *right(relation_, told, view)[1:])

    return look


def _joined_again(right: Rule) -> Rule:
    """Have a unit forget who departed, and meet those who are leaving."""

    def look(relation_: RelationView, told: RelationLedger, view: View) -> tuple[str, str, str]:
        left, joined, changed = right(relation_, told, view)
        gone = [unit for unit, member in relation_.members.items() if member.is_gone and unit not in told.members]
        return left, joined or min(gone, default=""), changed

    return look


def _meets_older(right: Rule) -> Rule:
    def meets(relation_: RelationView, member: MemberView, view: View) -> bool:
        return True if view.profile is Profile.LITERAL else right(relation_, member, view)

    return meets


@contextlib.contextmanager
def _older_ones_told() -> Iterator[None]:
    """Have newcomers meet who was there first."""
    with _in(advance, "_older_siblings", _always({}))(), _in(relation, "_meets", _meets_older)():
        yield


def _meets_siblings(right: Rule) -> Rule:
    return lambda relation_, member, view: right(relation_, member, replace(view, profile=Profile.LITERAL))


def _meets_no_siblings(right: Rule) -> Rule:
    return lambda relation_, member, view: right(relation_, member, replace(view, profile=Profile.JUJU))


def _no_settings(right: Rule) -> Rule:
    return lambda ledger, view: right(ledger, view) if view.leads else None


def _one_term(right: Rule) -> Rule:
    def elect(state: State, application: Any) -> str:
        term = application.term
        leader: str = right(state, application)
        application.term = max(term, 1)
        return leader

    return elect


def _post_first(right: Rule) -> Rule:
    def request(ledger: Ledger, view: View) -> UnitEvent | None:
        event: UnitEvent | None = right(ledger, view)
        is_pre = event is not None and event.kind is _K.PRE_SERIES_UPGRADE
        return UnitEvent(kind=_K.POST_SERIES_UPGRADE) if is_pre else event

    return request


def _overtaken(right: Rule) -> Rule:
    """Grant another event while one is in ERROR."""

    def grant(state: State, unit: Unit, *, may_retry: bool = True) -> Any:
        if unit.running is not None and unit.running.state is EventState.ERROR and not may_retry:
            unit.running = None
        return right(state, unit, may_retry=may_retry)

    return grant


def _ordinal_again(right: Rule) -> Rule:
    def withdraw(state: State, unit: Unit) -> None:
        right(state, unit)
        unit.next_ordinal -= 1

    return withdraw


def _written_by_failures(right: Rule) -> Rule:
    def fail(state: State, unit: Unit, message: str) -> None:
        edits = tuple(
            BagEdit(relation=number, owner=Owner.UNIT, edits={"key": message})
            for number, told in unit.ledger.relations.items()
            if not told.broken and number in state.relations
        )
        delivery._write(state, unit, state.applications[unit.application], edits)
        right(state, unit, message)

    return fail


def _created_twice(right: Rule) -> Rule:
    def creation(relation_: RelationView, told: RelationLedger) -> Any:
        return right(relation_, replace(told, created=told.created and bool(told.members)))

    return creation


def _upgraded_without_start(right: Rule) -> Rule:
    def upgraded(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
        after: Ledger = right(ledger, event, view)
        return replace(after, queue=after.queue[:1])

    return upgraded


def _echo_of_all(right: Rule) -> Rule:
    return lambda ledger, relation_, written: ledger


def _reaped_early(right: Rule) -> Rule:
    return lambda state, relation_: relation_.life is not Life.ALIVE


def _died_in_setup(right: Rule) -> Rule:
    """Go on with the setup of a unit that is to go."""

    def next_(ledger: Ledger, view: View) -> Any:
        return right(ledger, replace(view, life=Life.ALIVE) if ledger.plan and view.life is Life.DYING else view)

    return next_


def _leader_first(right: Rule) -> Rule:
    def installed(ledger: Ledger, event: UnitEvent, view: View) -> Ledger:
        after: Ledger = right(ledger, event, view)
        return replace(after, plan=tuple(sorted(after.plan, key=lambda step: step.kind is not StepKind.LEADER)))

    return installed


def _install_first(right: Rule) -> Rule:
    return lambda ledger, view: right(ledger, view) if ledger.installed else None


def _tick_in_setup(right: Rule) -> Rule:
    def next_(ledger: Ledger, view: View) -> UnitEvent | None:
        is_due = view.is_tick_due and ledger.installed and view.life is Life.ALIVE
        event: UnitEvent | None = right(ledger, view)
        return UnitEvent(kind=_K.UPDATE_STATUS) if is_due else event

    return next_


def _installed_again(right: Rule) -> Rule:
    return lambda ledger, event, view: replace(right(ledger, event, view), installed=False)


def _changed_first(right: Rule) -> Rule:
    """Tell of the bag of a member that has not joined."""

    def look(relation_: RelationView, told: RelationLedger, view: View) -> tuple[str, str, str]:
        left, joined, changed = right(relation_, told, view)
        has_written = bool(joined) and relation_.members[joined].version > 0
        return (left, "", joined) if has_written else (left, joined, changed)

    return look


def _broken_when_lonely(right: Rule) -> Rule:
    def operation(relation_: RelationView, told: RelationLedger, view: View) -> UnitEvent | None:
        is_lonely = relation_.own_version > 0 and not relation_.is_peer and not told.members
        return relation.ending(relation_, told, view) if is_lonely else right(relation_, told, view)

    return operation


def _elected_once(right: Rule) -> Rule:
    return lambda state, application: "" if application.term else right(state, application)


def _second_in_flight(right: Rule) -> Rule:
    def grant(state: State, unit: Unit, *, may_retry: bool = True) -> Any:
        if unit.running is not None and unit.running.is_lost:
            unit.running = None
        return right(state, unit, may_retry=may_retry)

    return grant


def _force_forgotten(right: Rule) -> Rule:
    def force(state: State, unit: Unit) -> None:
        unit.is_forced = True
        change.let_die(state, unit)

    return force


_S = StepKind
_LATER = (_S.CONFIG_CHANGED, _S.START)
_NO_CONFIGURATION = (_S.RELATION_CREATED, _S.LEADER, _S.START)
_TWO_LEADERS = (_S.RELATION_CREATED, _S.LEADER, _S.LEADER, *_LATER)
_TWO_CONFIGURATIONS = (_S.RELATION_CREATED, _S.LEADER, _S.CONFIG_CHANGED, *_LATER)
MISTAKES = (
    Mistake("I1", "install comes before storage", _in(resolve, "_attach", _install_first)),
    Mistake("I2", "install comes again", _at(_K.START, _installed_again)),
    Mistake("I3", "the plan has no relations", _at(_K.INSTALL, _planned(_S.LEADER, *_LATER))),
    Mistake("I4", "the leader step comes twice", _at(_K.INSTALL, _planned(*_TWO_LEADERS))),
    Mistake("I5", "the plan has two config-changed", _at(_K.INSTALL, _planned(*_TWO_CONFIGURATIONS))),
    Mistake(
        "I6", "the plan has no config-changed", _at(_K.INSTALL, _planned(_S.RELATION_CREATED, _S.LEADER, _S.START))
    ),
    Mistake("I7", "the leader step comes before relations", _at(_K.INSTALL, _leader_first)),
    Mistake("I8", "update-status comes in setup", _in(resolve, "_next", _tick_in_setup)),
    Mistake("I8", "a task begins before start", _in(resolve, "next_task", of_secrets.run_before_start)),
    Mistake("I9", "peer relations are broken", _in(relation, "ending", _peers_broken)),
    Mistake("I10", "what is new during the setup is created in it", _in(resolve, "_step_event", _created_meanwhile)),
    Mistake("I11", "a relation is created again", _in(relation, "creation", _created_twice)),
    Mistake("I12", "joined forces no changed", _at(_K.RELATION_JOINED, _without_queue)),
    Mistake("I12", "a task comes between joined and changed", _in(resolve, "next_task", of_secrets.run_between)),
    Mistake("I13", "the bag of who has not joined is told", _in(relation, "_look", _changed_first)),
    Mistake("I14", "who is leaving joins again", _in(relation, "_look", _joined_again)),
    Mistake("I15", "a relation is broken while it has members", _in(relation, "ending", _broken_at_once)),
    Mistake("I16", "nobody is told who left", _in(relation, "_look", _never_left)),
    Mistake("I17", "others are told before who leaves is", _in(world_sight, "_owes", _always(False))),
    Mistake("I18", "upgrade-charm forces no start", _at(_K.UPGRADE_CHARM, _upgraded_without_start)),
    Mistake("I18", "code changes at any event", _in(sight, "sighted", _code_of_today)),
    Mistake("I19", "the leader is told settings in setup", _in(resolve, "_step_event", _told_settings)),
    Mistake("I19", "one term is given to all leaders", _in(delivery, "elect", _one_term)),
    Mistake("I20", "nobody is told of another leader", _in(resolve, "_leadership", _no_settings)),
    Mistake("I21", "nobody is elected after the first leader", _in(delivery, "elect", _elected_once)),
    Mistake("I22", "update-status comes first", _in(resolve, "_next", _tick_first)),
    Mistake("I22", "update-status comes after the removal was asked for", _in(resolve, "_next", _tick_after_all)),
    Mistake("I23", "post-series-upgrade comes first", _in(resolve, "_request", _post_first)),
    Mistake("I24", "storage is never detached", _in(resolve, "_teardown", _storage_kept)),
    Mistake("I25", "a revision is told again", _at(_K.SECRET_CHANGED, of_secrets.told_again)),
    Mistake("I25", "a unit is told of its own revisions", _in(secret, "_changed", of_secrets.told_to_owner)),
    Mistake("I25", "followers own what the leader does", _in(world_secret, "is_owner", of_secrets.owned_by_followers)),
    Mistake("I25", "who was granted nothing is told", _in(world_secret, "_holds", of_secrets.granted_to_all)),
    Mistake("I25", "secrets are told of in setup", _in(resolve, "_next", of_secrets.told_in_setup)),
    Mistake("I25", "the newest revision counts as unread", _in(secret, "_owned", of_secrets.newest_is_unread)),
    Mistake("I25", "what is never rotated is", _in(world_secret, "_view", of_secrets.rotated_unasked)),
    Mistake("I26", "the configuration of the commit counts as seen", _at(_K.CONFIG_CHANGED, _config_of_commit)),
    Mistake("I26", "later attempts see what the first one saw", _in(sight, "sighted", _seen_of_first)),
    Mistake("I28", "stop comes before relations are broken", _in(resolve, "_teardown", _teardown(_stop_first))),
    Mistake("I28", "peers go before other relations", _in(resolve, "_is_peer", _peers_first)),
    Mistake("I29", "stop comes to a unit that had not started", _in(resolve, "_teardown", _teardown(_stop_always))),
    Mistake("I30", "remove comes to a unit that was not installed", _in(resolve, "_teardown", _remove_always)),
    Mistake("I30", "a setup goes on after the removal was asked for", _in(resolve, "_next", _died_in_setup)),
    Mistake("I31", "a relation without members is broken", _in(relation, "operation", _broken_when_lonely)),
    Mistake("I32", "a second event is granted where an attempt was lost", _in(delivery, "grant", _second_in_flight)),
    Mistake("I32", "a task begins when it is asked for", _in(task, "ask", of_secrets.run_at_once)),
    Mistake("I33", "an event overtakes one that has failed", _in(delivery, "grant", _overtaken)),
    Mistake("I34", "the ordinal of a withdrawn event is given again", _in(change, "withdraw", _ordinal_again)),
    Mistake("I34", "a failed event leaves its writes", _in(delivery, "fail", _written_by_failures)),
    Mistake("I35", "a relation is deleted while units have not left it", _in(change, "_is_over", _reaped_early)),
    Mistake("I37", "a unit that was removed by force goes on", _in(change, "force", _force_forgotten)),
    Mistake("I38", "the bag of the commit counts as seen", _at(_K.RELATION_CHANGED, _bag_of_commit)),
    Mistake("L1", "newcomers are told of older siblings", _older_ones_told),
    Mistake("L1", "nobody is told of younger siblings", _in(relation, "_meets", _meets_no_siblings)),
    Mistake("L2", "nobody is told that older siblings leave", _in(advance, "_older_siblings", _always({}))),
    Mistake("L3", "there is no echo", _in(relation, "_echo", _always(None))),
    Mistake("L3", "what handlers of a relation write there is echoed", _in(advance, "_count_own", _echo_of_all)),
    Mistake("J1", "siblings meet in all relations", _in(relation, "_meets", _meets_siblings)),
)
