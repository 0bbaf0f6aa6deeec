"""Mistakes that can be made in the rules of units, put into them one at a time: the invariants must find each.

Each is named by what goes wrong, with the invariant that it must be found by.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias
from unittest import mock

from support.unit_storm import delivery_mistake as of_delivery
from support.unit_storm import life_mistake as of_life
from support.unit_storm import relation_mistake as of_relation
from support.unit_storm import secret_mistake as of_secrets
from support.unit_storm.storm import Storm
from tinkwell.core.unit.invariant import Violation
from tinkwell.core.unit.kinds import EventKind, Profile, StepKind
from tinkwell.core.unit.resolver import advance, relation, resolve, secret, sight
from tinkwell.core.unit.world import change, delivery, task
from tinkwell.core.unit.world import secret as world_secret
from tinkwell.core.unit.world import sight as world_sight

_K = EventKind
# Storms that have shown mistakes in little time, where the first ones take long; they are tried before those.
_FIRST = {
    "install comes again": (37,),
    "a relation is created again": (33,),
    "who is leaving joins again": (5,),
    "update-status comes first": (39,),
    "post-series-upgrade comes first": (29,),
    "later attempts see what the first one saw": (13,),
    "others are told before who leaves is": (9,),
    "nobody is told that older siblings leave": (9,),
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
                storm = Storm(seed=seed, profile=profile, most_steps=300)
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


@contextlib.contextmanager
def _older_ones_told() -> Iterator[None]:
    """Have newcomers meet who was there first."""
    with _in(advance, "_older_siblings", _always({}))(), _in(relation, "_meets", of_relation.meets_older)():
        yield


_S = StepKind
_LATER = (_S.CONFIG_CHANGED, _S.START)
_NO_CONFIGURATION = (_S.RELATION_CREATED, _S.LEADER, _S.START)
_TWO_LEADERS = (_S.RELATION_CREATED, _S.LEADER, _S.LEADER, *_LATER)
_TWO_CONFIGURATIONS = (_S.RELATION_CREATED, _S.LEADER, _S.CONFIG_CHANGED, *_LATER)
MISTAKES = (
    Mistake("I1", "install comes before storage", _in(resolve, "_attach", of_life.install_first)),
    Mistake("I2", "install comes again", _at(_K.START, of_life.installed_again)),
    Mistake("I3", "the plan has no relations", _at(_K.INSTALL, of_life.planned(_S.LEADER, *_LATER))),
    Mistake("I4", "the leader step comes twice", _at(_K.INSTALL, of_life.planned(*_TWO_LEADERS))),
    Mistake("I5", "the plan has two config-changed", _at(_K.INSTALL, of_life.planned(*_TWO_CONFIGURATIONS))),
    Mistake(
        "I6",
        "the plan has no config-changed",
        _at(_K.INSTALL, of_life.planned(_S.RELATION_CREATED, _S.LEADER, _S.START)),
    ),
    Mistake("I7", "the leader step comes before relations", _at(_K.INSTALL, of_life.leader_first)),
    Mistake("I8", "update-status comes in setup", _in(resolve, "_next", of_life.tick_in_setup)),
    Mistake("I8", "a task begins before start", _in(resolve, "next_task", of_secrets.run_before_start)),
    Mistake("I9", "peer relations are broken", _in(relation, "ending", of_relation.peers_broken)),
    Mistake(
        "I10", "what is new during the setup is created in it", _in(resolve, "_step_event", of_life.created_meanwhile)
    ),
    Mistake("I11", "a relation is created again", _in(relation, "creation", of_relation.created_twice)),
    Mistake("I12", "joined forces no changed", _at(_K.RELATION_JOINED, of_relation.without_queue)),
    Mistake("I12", "a task comes between joined and changed", _in(resolve, "next_task", of_secrets.run_between)),
    Mistake("I13", "the bag of who has not joined is told", _in(relation, "_look", of_relation.changed_first)),
    Mistake("I14", "who is leaving joins again", _in(relation, "_look", of_relation.joined_again)),
    Mistake("I15", "a relation is broken while it has members", _in(relation, "ending", of_relation.broken_at_once)),
    Mistake("I16", "nobody is told who left", _in(relation, "_look", of_relation.never_left)),
    Mistake("I17", "others are told before who leaves is", _in(world_sight, "_owes", _always(False))),
    Mistake("I18", "upgrade-charm forces no start", _at(_K.UPGRADE_CHARM, of_life.upgraded_without_start)),
    Mistake("I18", "code changes at any event", _in(sight, "sighted", of_delivery.code_of_today)),
    Mistake("I19", "the leader is told settings in setup", _in(resolve, "_step_event", of_life.told_settings)),
    Mistake("I19", "one term is given to all leaders", _in(delivery, "elect", of_delivery.one_term)),
    Mistake("I20", "nobody is told of another leader", _in(resolve, "_leadership", of_life.no_settings)),
    Mistake("I21", "nobody is elected after the first leader", _in(delivery, "elect", of_delivery.elected_once)),
    Mistake("I22", "update-status comes first", _in(resolve, "_next", of_life.tick_first)),
    Mistake(
        "I22", "update-status comes after the removal was asked for", _in(resolve, "_next", of_life.tick_after_all)
    ),
    Mistake("I23", "post-series-upgrade comes first", _in(resolve, "_request", of_life.post_first)),
    Mistake("I24", "storage is never detached", _in(resolve, "_teardown", of_life.storage_kept)),
    Mistake("I25", "a revision is told again", _at(_K.SECRET_CHANGED, of_secrets.told_again)),
    Mistake("I25", "a unit is told of its own revisions", _in(secret, "_changed", of_secrets.told_to_owner)),
    Mistake("I25", "followers own what the leader does", _in(world_secret, "is_owner", of_secrets.owned_by_followers)),
    Mistake("I25", "who was granted nothing is told", _in(world_secret, "_holds", of_secrets.granted_to_all)),
    Mistake("I25", "secrets are told of in setup", _in(resolve, "_next", of_secrets.told_in_setup)),
    Mistake("I25", "the newest revision counts as unread", _in(secret, "_owned", of_secrets.newest_is_unread)),
    Mistake("I25", "what is never rotated is", _in(world_secret, "_view", of_secrets.rotated_unasked)),
    Mistake(
        "I26", "the configuration of the commit counts as seen", _at(_K.CONFIG_CHANGED, of_delivery.config_of_commit)
    ),
    Mistake("I26", "later attempts see what the first one saw", _in(sight, "sighted", of_delivery.seen_of_first)),
    Mistake(
        "I28",
        "stop comes before relations are broken",
        _in(resolve, "_teardown", of_life.teardown(of_life.stop_first)),
    ),
    Mistake("I28", "peers go before other relations", _in(resolve, "_is_peer", of_relation.peers_first)),
    Mistake(
        "I29",
        "stop comes to a unit that had not started",
        _in(resolve, "_teardown", of_life.teardown(of_life.stop_always)),
    ),
    Mistake("I30", "remove comes to a unit that was not installed", _in(resolve, "_teardown", of_life.remove_always)),
    Mistake("I30", "a setup goes on after the removal was asked for", _in(resolve, "_next", of_life.died_in_setup)),
    Mistake("I31", "a relation without members is broken", _in(relation, "operation", of_relation.broken_when_lonely)),
    Mistake(
        "I32",
        "a second event is granted where an attempt was lost",
        _in(delivery, "grant", of_delivery.second_in_flight),
    ),
    Mistake("I32", "a task begins when it is asked for", _in(task, "ask", of_secrets.run_at_once)),
    Mistake("I33", "an event overtakes one that has failed", _in(delivery, "grant", of_delivery.overtaken)),
    Mistake(
        "I34", "the ordinal of a withdrawn event is given again", _in(change, "withdraw", of_delivery.ordinal_again)
    ),
    Mistake("I34", "a failed event leaves its writes", _in(delivery, "fail", of_delivery.written_by_failures)),
    Mistake(
        "I35", "a relation is deleted while units have not left it", _in(change, "_is_over", of_relation.reaped_early)
    ),
    Mistake("I37", "a unit that was removed by force goes on", _in(change, "force", of_delivery.force_forgotten)),
    Mistake("I38", "the bag of the commit counts as seen", _at(_K.RELATION_CHANGED, of_delivery.bag_of_commit)),
    Mistake("L1", "newcomers are told of older siblings", _older_ones_told),
    Mistake("L1", "nobody is told of younger siblings", _in(relation, "_meets", of_relation.meets_no_siblings)),
    Mistake("L2", "nobody is told that older siblings leave", _in(advance, "_older_siblings", _always({}))),
    Mistake("L3", "there is no echo", _in(relation, "_echo", _always(None))),
    Mistake(
        "L3", "what handlers of a relation write there is echoed", _in(advance, "_count_own", of_relation.echo_of_all)
    ),
    Mistake("J1", "siblings meet in all relations", _in(relation, "_meets", of_relation.meets_siblings)),
)
