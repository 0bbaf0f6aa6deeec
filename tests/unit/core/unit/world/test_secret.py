"""Secrets in a world: who reads and changes them, what units are told of them, and what ends them."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from unit.core.unit_scene import PG, WEB, settle, told

from tinkwell.core import errors
from tinkwell.core.unit import effect
from tinkwell.core.unit.effect import Effects
from tinkwell.core.unit.kinds import EventState, Rotation
from tinkwell.core.unit.world import World

S1, S2 = "1" * 20, "2" * 20
PASSWORD = {"password": "one"}


@dataclass
class Clock:
    """Says what time it is."""

    now: datetime = field(default_factory=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world(clock: Clock) -> World:
    """Return web with two units, of which web/0 leads, and pg with one, which are related (2) and at rest."""
    world = World(clock=clock)
    world.deploy("web", WEB, 2)
    world.deploy("pg", PG)
    world.relate("web:db", "pg:db")
    settle(world)
    return world


def do(world: World, unit: str, *edits: effect.SecretEffect, term: int = 0) -> None:
    """Have a unit do something with secrets, in update-status."""
    world.tick(unit)
    world.grant(unit)
    world.commit(unit, Effects(secrets=edits, term=term))


def news(world: World, unit: str, known: int) -> list[tuple[str, str, int]]:
    """Return what a unit is told of secrets beyond the first events."""
    settle(world, unit)
    stream = world.stream(unit)[known:]
    return [(str(each.event.kind), each.event.secret, each.event.revision) for each in stream if each.event.secret]


def test_who_reads_a_secret_is_told_of_its_newest_revision(world: World) -> None:
    do(world, "pg/0", effect.SecretAdd(id=S1, content=PASSWORD), effect.SecretGrant(id=S1, relation=2))
    found, revision = world.read_secret("web/0", name=S1)
    assert (revision, found.revisions[revision].content) == (1, PASSWORD)
    do(world, "web/0", effect.SecretTrack(id=S1, revision=1, label="db"))
    assert world.read_secret("web/0", label="db")[1] == 1
    known = {unit: len(world.stream(unit)) for unit in world.living()}
    for text in ("two", "three"):
        do(world, "pg/0", effect.SecretSet(id=S1, content={"password": text}))
    assert news(world, "web/0", known["web/0"]) == [("secret-changed", S1, 3)]
    assert news(world, "web/1", known["web/1"]) == []
    assert news(world, "pg/0", known["pg/0"]) == [("secret-remove", S1, 2)]
    do(world, "web/0", effect.SecretTrack(id=S1, revision=3))
    assert news(world, "pg/0", known["pg/0"]) == [("secret-remove", S1, 2), ("secret-remove", S1, 1)]
    assert world.check() == []


def test_all_that_an_event_sets_makes_one_revision(world: World) -> None:
    do(
        world,
        "pg/0",
        effect.SecretAdd(id=S1, content=PASSWORD),
        effect.SecretSet(id=S1, content={"password": "two"}, label="root"),
    )
    assert (world.secrets[S1].latest, world.secrets[S1].label) == (1, "root")
    contents: list[dict[str, str]] = [{"password": "three"}, {"password": "four"}]
    do(world, "pg/0", *(effect.SecretSet(id=S1, content=content) for content in contents))
    assert {number: each.content for number, each in world.secrets[S1].revisions.items()} == {
        1: {"password": "two"},
        2: {"password": "four"},
    }


def test_a_grant_ends_with_its_relation(world: World) -> None:
    do(world, "pg/0", effect.SecretAdd(id=S1, content=PASSWORD), effect.SecretGrant(id=S1, relation=2))
    do(world, "web/0", effect.SecretTrack(id=S1, revision=1))
    world.unrelate(2)
    assert world.may_read("web/0", S1)
    settle(world, "web/0")
    assert not world.may_read("web/0", S1)
    assert world.may_read("web/1", S1)
    known = len(world.stream("web/0"))
    do(world, "pg/0", effect.SecretSet(id=S1, content={"password": "two"}))
    assert news(world, "web/0", known) == []
    with pytest.raises(errors.NotFound, match=f"secret {S1} does not exist"):
        world.read_secret("web/0", name=S1)
    settle(world)
    assert world.secrets[S1].grants == set()
    assert world.check(is_at_rest=True) == []


def test_a_grant_may_be_for_one_unit_and_may_be_taken_back(world: World) -> None:
    only = effect.SecretGrant(id=S1, relation=2, unit="web/1")
    do(world, "pg/0", effect.SecretAdd(id=S1, content=PASSWORD), only)
    assert [world.may_read(unit, S1) for unit in ("web/0", "web/1")] == [False, True]
    do(world, "pg/0", effect.SecretRevoke(id=S1))
    assert not world.may_read("web/1", S1)


def test_a_failed_change_is_withdrawn_when_its_grant_is_gone(world: World) -> None:
    do(world, "pg/0", effect.SecretAdd(id=S1, content=PASSWORD), effect.SecretGrant(id=S1, relation=2))
    do(world, "web/0", effect.SecretTrack(id=S1, revision=1))
    do(world, "pg/0", effect.SecretSet(id=S1, content={"password": "two"}))
    world.grant("web/0")
    world.fail("web/0", "exit 1")
    do(world, "pg/0", effect.SecretSet(id=S1, content={"password": "three"}))
    again = world.grant("web/0")
    assert again is not None
    assert (again.attempt, again.event.revision) == (2, 3)
    world.fail("web/0", "exit 1")
    do(world, "pg/0", effect.SecretRevoke(id=S1))
    assert world.grant("web/0") is None
    assert world.records()[-1].event_type == "UNIT_EVENT_WITHDRAWN"
    assert world.check() == []


def test_the_owner_is_asked_for_another_revision_after_each_interval(world: World, clock: Clock) -> None:
    do(world, "pg/0", effect.SecretAdd(id=S1, content=PASSWORD, rotation=Rotation.DAILY))
    known = len(world.stream("pg/0"))
    clock.now += timedelta(hours=23)
    assert news(world, "pg/0", known) == []
    clock.now += timedelta(days=5)
    assert news(world, "pg/0", known) == [("secret-rotate", S1, 0)]
    assert world.secrets[S1].rotates_at == clock.now + timedelta(days=1)
    do(world, "pg/0", effect.SecretSet(id=S1, rotation=Rotation.NEVER))
    clock.now += timedelta(days=5)
    assert len(news(world, "pg/0", known)) == 1


def test_a_rotation_of_who_does_not_lead_any_more_is_withdrawn(world: World, clock: Clock) -> None:
    add = effect.SecretAdd(id=S1, content=PASSWORD, is_application=True, rotation=Rotation.HOURLY)
    do(world, "web/0", add, term=1)
    clock.now += timedelta(hours=1)
    running = world.grant("web/0")
    assert running is not None
    assert running.event.name == "secret-rotate"
    world.silence("web/0")
    assert world.elect("web") == "web/1"
    with pytest.raises(errors.NotLeader):
        world.commit("web/0", Effects(secrets=(effect.SecretSet(id=S1, content=PASSWORD),), term=1))
    world.hear("web/0")
    following = world.grant("web/0")
    assert following is None or following.event.name != "secret-rotate"
    settle(world)
    assert told(world, "web/1")[-1] == "secret-rotate"
    assert "secret-rotate" not in told(world, "web/0")
    assert world.check(is_at_rest=True) == []


def test_an_expiry_is_told_once_and_again_when_it_is_set_anew(world: World, clock: Clock) -> None:
    at = clock.now + timedelta(hours=1)
    do(world, "pg/0", effect.SecretAdd(id=S1, content=PASSWORD, expires_at=at))
    known = len(world.stream("pg/0"))
    clock.now += timedelta(hours=2)
    assert news(world, "pg/0", known) == [("secret-expired", S1, 1)]
    clock.now += timedelta(hours=2)
    do(world, "pg/0", effect.SecretSet(id=S1, expires_at=clock.now + timedelta(hours=1)))
    assert len(news(world, "pg/0", known)) == 1
    clock.now += timedelta(hours=2)
    assert news(world, "pg/0", known) == [("secret-expired", S1, 1)] * 2


def test_an_expiry_that_is_set_anew_by_its_own_event_is_told_again(world: World, clock: Clock) -> None:
    do(world, "pg/0", effect.SecretAdd(id=S1, content=PASSWORD, expires_at=clock.now + timedelta(hours=1)))
    known = len(world.stream("pg/0"))
    clock.now += timedelta(hours=1)
    world.grant("pg/0")
    world.commit("pg/0", Effects(secrets=(effect.SecretSet(id=S1, expires_at=clock.now + timedelta(hours=1)),)))
    clock.now += timedelta(hours=2)
    assert news(world, "pg/0", known) == [("secret-expired", S1, 1)] * 2


def test_secrets_go_with_their_owners(world: World) -> None:
    do(world, "web/0", effect.SecretAdd(id=S1, content=PASSWORD, is_application=True), term=1)
    do(world, "web/1", effect.SecretAdd(id=S2, content=PASSWORD))
    world.remove_unit("web/1", is_forced=True)
    assert [*world.secrets] == [S1]
    world.remove_application("web")
    settle(world)
    assert not world.secrets
    assert [entry.event_type for entry in world.records() if entry.resource_type == "SECRET"][-1] == "DELETED"


def test_a_revision_and_a_whole_secret_may_be_removed(world: World) -> None:
    do(world, "pg/0", effect.SecretAdd(id=S1, content=PASSWORD))
    do(world, "pg/0", effect.SecretSet(id=S1, content=PASSWORD))
    do(world, "pg/0", effect.SecretRemove(id=S1, revision=1))
    assert [*world.secrets[S1].revisions] == [2]
    do(world, "pg/0", effect.SecretSet(id=S1, content=PASSWORD))
    assert [*world.secrets[S1].revisions] == [2, 3]
    do(world, "pg/0", effect.SecretRemove(id=S1))
    assert not world.secrets


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([effect.SecretAdd(id="x", content=PASSWORD)], r"secrets\[0\].id: .* is not the id of a secret"),
        ([effect.SecretAdd(id=S2, content={})], r"secrets\[0\].content: is empty"),
        ([effect.SecretAdd(id=S1, content=PASSWORD)], "there is a secret 1+ already"),
        ([effect.SecretAdd(id=S2, content=PASSWORD, label="root")], "is the label of secret "),
        ([effect.SecretSet(id=S2, content=PASSWORD)], "the unit owns no secret 2+"),
        ([effect.SecretSet(id=S1, content={"a": "b"})], r"secrets\[0\].content: .* is not a key"),
        ([effect.SecretGrant(id=S1, relation=9)], r"secrets\[0\].grant.relation: the unit is not in a relation 9"),
        ([effect.SecretGrant(id=S1, relation=2, application="loki")], '"loki" is not on the other side'),
        ([effect.SecretGrant(id=S1, relation=2, unit="pg/9")], '"pg/9" is not on the other side'),
        ([effect.SecretRemove(id=S1, revision=9)], "has no revision 9"),
        ([effect.SecretRemove(id=S1, revision=2)], "2 is the newest one; remove the whole secret"),
        ([effect.SecretTrack(id=S2, revision=1)], "the unit may not read a secret 2+"),
    ],
)
def test_what_a_unit_may_not_do_to_secrets_is_refused_and_nothing_is_done(
    world: World, edits: list[effect.SecretEffect], message: str
) -> None:
    do(world, "web/0", effect.SecretAdd(id=S1, content=PASSWORD, label="root"))
    do(world, "web/0", effect.SecretSet(id=S1, content=PASSWORD))
    settle(world, "web/0")
    world.tick("web/0")
    world.grant("web/0")
    with pytest.raises(errors.CommitRefused, match=message):
        world.commit("web/0", Effects(secrets=tuple(edits)))
    assert [*world.secrets] == [S1]
    running = world.running("web/0")
    assert running is not None
    assert running.state is EventState.ERROR


def test_a_units_own_label_is_none_of_its_applications(world: World) -> None:
    known = effect.SecretAdd(id=S1, content=PASSWORD, label="root", is_application=True)
    other = effect.SecretAdd(id=S2, content=PASSWORD, label="api", is_application=True)
    do(world, "web/0", known, other, term=world.applications["web"].term)
    do(world, "web/1", effect.SecretTrack(id=S2, label="root"))
    assert [each.label for each in world.secrets.values()] == ["root", "api"]
    with pytest.raises(errors.CommitRefused, match=f'"root" is the label of secret {S2}; choose another one'):
        do(world, "web/1", effect.SecretTrack(id=S1, label="root"))


def test_another_unit_may_not_change_a_secret(world: World) -> None:
    do(world, "pg/0", effect.SecretAdd(id=S1, content=PASSWORD), effect.SecretGrant(id=S1, relation=2))
    world.tick("web/0")
    world.grant("web/0")
    with pytest.raises(errors.CommitRefused, match="the unit owns no secret"):
        world.commit("web/0", Effects(secrets=(effect.SecretRemove(id=S1),)))


def test_a_users_secret_is_granted_to_applications(world: World) -> None:
    world.create_secret(S1, PASSWORD, label="api")
    with pytest.raises(errors.NotFound):
        world.read_secret("web/0", name=S1)
    world.grant_secret(S1, "web")
    do(world, "web/0", effect.SecretTrack(id=S1, revision=1))
    known = len(world.stream("web/0"))
    world.update_secret(effect.SecretSet(id=S1, content={"password": "two"}))
    assert news(world, "web/0", known) == [("secret-changed", S1, 2)]
    world.grant_secret(S1, "web", is_granted=False)
    assert not world.may_read("web/0", S1)
    world.remove_secret(S1)
    with pytest.raises(errors.NotFound, match=f"secret {S1} does not exist"):
        world.read_secret("web/0", name=S1)
    assert world.check(is_at_rest=True) == []


def test_what_a_secret_is_stands_in_no_entry_of_the_log(world: World) -> None:
    do(world, "pg/0", effect.SecretAdd(id=S1, content={"password": "hunter2"}), effect.SecretGrant(id=S1, relation=2))
    do(world, "pg/0", effect.SecretSet(id=S1, content={"password": "hunter2"}))
    assert "hunter2" not in repr(world.records())
    assert "hunter2" not in repr(world.secrets)
    assert "hunter2" not in repr(effect.SecretAdd(id=S1, content={"password": "hunter2"}))
    assert "hunter2" not in repr(effect.SecretSet(id=S1, content={"password": "hunter2"}))


def test_a_copy_goes_on_by_itself(world: World) -> None:
    do(world, "pg/0", effect.SecretAdd(id=S1, content=PASSWORD))
    copied = world.copy()
    assert copied.key() == world.key()
    do(copied, "pg/0", effect.SecretSet(id=S1, content={"password": "two"}))
    assert (world.secrets[S1].latest, copied.secrets[S1].latest) == (1, 2)
    assert copied.key() != world.key()
