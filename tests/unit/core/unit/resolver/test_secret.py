"""What a unit is told of secrets that it has read or owns, when, and what of it still stands after a failure."""

from dataclasses import replace
from typing import Any

import pytest
from unit.core.unit_life import (
    ALIVE,
    DYING,
    STARTED,
    V2,
    due,
    following,
    owned,
    relation,
    relations,
    secret,
    secrets,
    started,
    view,
)

from tinkwell.core.unit.kinds import EventKind, StepKind, Verdict
from tinkwell.core.unit.ledger import Ledger, SecretLedger, SetupStep, Written
from tinkwell.core.unit.resolver import change
from tinkwell.core.unit.resolver.advance import advance
from tinkwell.core.unit.resolver.explanation import upcoming
from tinkwell.core.unit.resolver.resolve import next_event
from tinkwell.core.unit.resolver.sight import sighted
from tinkwell.core.unit.resolver.verdict import verdict
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import RevisionView, SecretView, View

CHANGED = UnitEvent(kind=EventKind.SECRET_CHANGED, secret="s1", revision=3)
ROTATE = UnitEvent(kind=EventKind.SECRET_ROTATE, secret="s1")
EXPIRED = UnitEvent(kind=EventKind.SECRET_EXPIRED, secret="s1", revision=2)
UNREAD = UnitEvent(kind=EventKind.SECRET_REMOVE, secret="s1", revision=2)


def reading(tracked: int, **about: Any) -> Ledger:
    """Return the ledger of a unit that reads a revision of a secret."""
    return started(secrets={"s1": SecretLedger(tracked=tracked, **about)})


@pytest.mark.parametrize(
    ("ledger", "seen", "expected"),
    [
        (reading(2), secret(), "secret-changed s1 r3"),
        (reading(1), secret(), "secret-changed s1 r3"),
        (reading(3), secret(), ""),
        (reading(2, told=3), secret(), ""),
        (reading(2, told=3), secret(latest=4), "secret-changed s1 r4"),
        (STARTED, secret(), ""),
        (reading(0), secret(), ""),
        (reading(2), secret(is_granted=False), ""),
        (reading(2), secret(is_owner=True, revisions={}), ""),
    ],
)
def test_who_reads_an_older_revision_is_told_of_the_newest_one_once(
    ledger: Ledger, seen: SecretView, expected: str
) -> None:
    assert due(ledger, view(secrets=secrets(seen))) == expected


def test_what_an_owner_is_told_comes_by_kind_then_by_secret_and_revision() -> None:
    old = {1: RevisionView(is_expired=True, is_used=False), 2: RevisionView(is_expired=True), 3: RevisionView()}
    seen = view(
        secrets=secrets(
            owned("s2", is_rotation_due=True, revisions=old),
            owned("s1", is_rotation_due=True, revisions={1: RevisionView(is_used=False), 3: RevisionView()}),
            secret("s3"),
        )
    )
    ledger = started(secrets={"s3": SecretLedger(tracked=1)})
    assert following(ledger, seen) == [
        "secret-changed s3 r3",
        "secret-rotate s1",
        "secret-rotate s2",
        "secret-expired s2 r1",
        "secret-expired s2 r2",
        "secret-remove s1 r1",
        "secret-remove s2 r1",
    ]


def test_what_an_owner_was_told_is_told_again_where_an_expiry_was_set_anew() -> None:
    seen = view(secrets=secrets(owned(revisions={3: RevisionView(is_expired=True)})))
    assert due(started(secrets={"s1": SecretLedger(expired=frozenset({3}))}), seen) == ""
    assert due(started(secrets={"s1": SecretLedger()}), seen) == "secret-expired s1 r3"


def test_who_does_not_own_a_secret_is_not_asked_to_rotate_it() -> None:
    seen = secret(is_rotation_due=True, revisions={1: RevisionView(is_expired=True, is_used=False), 3: RevisionView()})
    assert due(reading(3), view(secrets=secrets(seen))) == ""


@pytest.mark.parametrize(
    ("ledger", "changes"),
    [
        (Ledger(), {}),
        (Ledger(installed=True, plan=(SetupStep(StepKind.CONFIG_CHANGED), SetupStep(StepKind.START))), {}),
        (replace(STARTED, queue=(UnitEvent(kind=EventKind.START),)), {}),
        (STARTED, {"life": DYING}),
        (STARTED, {"is_held": True}),
        (replace(STARTED, led_term=0), {"leader": "web/0", "term": 1}),
    ],
)
def test_secrets_wait_for_what_comes_before_them(ledger: Ledger, changes: dict[str, Any]) -> None:
    event = next_event(ledger, view(secrets=secrets(owned(is_rotation_due=True)), **changes))
    assert event is None or not event.kind.is_secret


def test_secrets_come_before_storage_and_all_that_follows() -> None:
    shown = {"storages": {"data/0": ALIVE}, "charm": V2, "config_version": 2, "is_tick_due": True}
    seen = view(secrets=secrets(owned(is_rotation_due=True)), relations=relations(relation(membership=None)), **shown)
    assert following(STARTED, seen)[:3] == ["db-relation-created", "secret-rotate s1", "secret-remove s1 r1"]


def test_a_commit_is_what_was_told() -> None:
    seen = view(secrets=secrets(owned()))
    ledger = reading(2)
    assert advance(ledger, CHANGED, seen).secrets["s1"] == SecretLedger(tracked=2, told=3)
    assert advance(ledger, EXPIRED, seen).secrets["s1"] == SecretLedger(tracked=2, expired=frozenset({2}))
    assert advance(ledger, UNREAD, seen).secrets["s1"] == SecretLedger(tracked=2, removed=frozenset({2}))
    assert advance(ledger, ROTATE, seen) == ledger
    read = advance(ledger, CHANGED, seen, Written(tracked={"s1": 3, "s2": 1}))
    assert read.secrets == {"s1": SecretLedger(tracked=3, told=3), "s2": SecretLedger(tracked=1)}


def test_the_commit_of_a_rotation_has_it_be_due_again_later() -> None:
    assert change.committed(ROTATE, view()) == (change.Rotated("s1"),)
    assert change.committed(CHANGED, view()) == ()
    seen = view(secrets=secrets(owned(is_rotation_due=True, latest=1)))
    assert [event.name for event in upcoming(STARTED, seen, most=5)] == ["secret-rotate"]


def test_an_attempt_tells_of_the_newest_revision_of_today() -> None:
    seen = view(secrets=secrets(secret(latest=5)))
    assert sighted(CHANGED, seen).revision == 5
    assert sighted(EXPIRED, seen).revision == 2
    assert sighted(CHANGED, view()).revision == 3


def test_an_event_of_a_revision_is_another_one_for_each() -> None:
    assert CHANGED.tells_same(replace(CHANGED, revision=9))
    assert not CHANGED.tells_same(replace(CHANGED, secret="s2"))
    assert not EXPIRED.tells_same(replace(EXPIRED, revision=9))
    assert not UNREAD.tells_same(replace(UNREAD, revision=9))


@pytest.mark.parametrize(
    ("event", "seen", "expected"),
    [
        (CHANGED, view(secrets=secrets(secret())), Verdict.RETRY),
        (CHANGED, view(secrets=secrets(secret(is_granted=False))), Verdict.WITHDRAW),
        (CHANGED, view(), Verdict.WITHDRAW),
        (CHANGED, view(secrets=secrets(secret()), life=DYING), Verdict.WITHDRAW),
        (ROTATE, view(secrets=secrets(owned())), Verdict.RETRY),
        (ROTATE, view(secrets=secrets(secret())), Verdict.WITHDRAW),
        (ROTATE, view(), Verdict.WITHDRAW),
        (ROTATE, view(secrets=secrets(owned()), life=DYING), Verdict.WITHDRAW),
        (EXPIRED, view(secrets=secrets(owned())), Verdict.RETRY),
        (EXPIRED, view(secrets=secrets(owned(revisions={3: RevisionView()}))), Verdict.WITHDRAW),
        (EXPIRED, view(secrets=secrets(secret())), Verdict.WITHDRAW),
        (UNREAD, view(secrets=secrets(owned())), Verdict.RETRY),
        (UNREAD, view(secrets=secrets(owned(revisions={3: RevisionView()}))), Verdict.WITHDRAW),
        (UNREAD, view(secrets=secrets(secret())), Verdict.WITHDRAW),
        (UNREAD, view(), Verdict.WITHDRAW),
    ],
)
def test_an_event_goes_with_its_secret_its_revision_its_grant_and_its_owner(
    event: UnitEvent, seen: View, expected: Verdict
) -> None:
    assert verdict(event, STARTED, seen) is expected
