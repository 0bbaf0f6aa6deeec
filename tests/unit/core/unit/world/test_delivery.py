"""What agents ask of a world: attempts, failures, effects and leadership."""

import pytest
from unit.core.unit_scene import PG, WEB, settle, told, write

from tinkwell.core import errors
from tinkwell.core.unit.effect import Effects, Notice, Port
from tinkwell.core.unit.kinds import EventKind, EventState, Owner
from tinkwell.core.unit.world import World
from tinkwell.core.unit.world.delivery import LOST


@pytest.fixture
def world() -> World:
    """Return web with two units and pg with one, which are related (2) and at rest."""
    world = World()
    world.deploy("web", WEB, 2)
    world.deploy("pg", PG)
    world.relate("web:db", "pg:db")
    settle(world)
    return world


def _tick(world: World, unit: str) -> None:
    world.tick(unit)
    running = world.grant(unit)
    assert running is not None
    assert running.event.kind is EventKind.UPDATE_STATUS


def test_what_runs_is_granted_again_as_it_is(world: World) -> None:
    _tick(world, "web/0")
    assert world.grant("web/0") == world.running("web/0")
    entries = [entry for entry in world.records() if entry.data.get("kind") == "update-status"]
    assert len(entries) == 1


def test_an_event_that_has_failed_is_tried_again(world: World) -> None:
    _tick(world, "web/0")
    world.fail("web/0", "exit 1")
    assert world.failed() == ["web/0"]
    assert world.grant("web/0", may_retry=False) is None
    again = world.grant("web/0")
    assert again is not None
    assert (again.attempt, again.state, again.message) == (2, EventState.RUNNING, "")


def test_an_attempt_that_was_lost_is_tried_again_and_fails_with_the_second_loss(world: World) -> None:
    _tick(world, "web/0")
    world.lose("web/0")
    again = world.grant("web/0", may_retry=False)
    assert again is not None
    assert again.attempt == 2
    world.lose("web/0")
    failed = world.running("web/0")
    assert failed is not None
    assert (failed.state, failed.message) == (EventState.ERROR, LOST)


def test_losses_are_counted_in_a_row(world: World) -> None:
    for _ in range(3):
        _tick(world, "web/0")
        world.lose("web/0")
        world.grant("web/0")
        world.commit("web/0")
    assert world.failed() == []


def test_only_what_runs_can_be_committed_or_fail(world: World) -> None:
    for call in (world.commit, world.lose, lambda unit: world.fail(unit, "exit 1")):
        with pytest.raises(errors.IllegalTransition, match="no event of it runs"):
            call("web/0")


def test_an_event_that_is_skipped_counts_as_told(world: World) -> None:
    world.set_config("web", {"size": 2})
    world.grant("web/0")
    world.fail("web/0", "exit 1")
    world.skip("web/0", actor="ann")
    skipped = world.stream("web/0")[-1]
    assert (skipped.state, skipped.actor) == (EventState.SKIPPED, "ann")
    assert world.due("web/0") is None


def test_a_bag_is_written_with_the_commit(world: World) -> None:
    _tick(world, "web/0")
    world.commit("web/0", write(2, key="text", other="more"))
    assert world.bag(2, "web/0") == {"key": "text", "other": "more"}
    _tick(world, "web/1")
    world.commit("web/1", write(2, key=None))
    changed = [entry.data for entry in world.records() if entry.event_type == "RELATION_CHANGED"]
    assert [(data["owner"], data["version"], data["keys"]) for data in changed] == [("web/0", 1, ["key", "other"])]


def test_a_bag_is_written_once_in_a_commit(world: World) -> None:
    _tick(world, "web/0")
    effects = write(2, key="one")
    world.commit("web/0", Effects(bags=(*effects.bags, *write(2, key="two").bags)))
    assert (world.bag(2, "web/0"), world.relations[2].version("web/0")) == ({"key": "two"}, 1)


@pytest.mark.parametrize("relation", [7, 1])
def test_a_bag_of_a_relation_that_the_unit_is_not_in_is_refused(world: World, relation: int) -> None:
    _tick(world, "pg/0")
    with pytest.raises(errors.CommitRefused):
        world.commit("pg/0", write(relation, key="text"))
    failed = world.running("pg/0")
    assert failed is not None
    assert failed.state is EventState.ERROR


def test_an_applications_bag_is_the_leaders(world: World) -> None:
    _tick(world, "web/0")
    world.commit("web/0", write(2, Owner.APPLICATION, term=1, key="text"))
    assert world.bag(2, "web") == {"key": "text"}
    _tick(world, "web/1")
    with pytest.raises(errors.NotLeader):
        world.commit("web/1", write(2, Owner.APPLICATION, term=1, key="mine"))
    assert world.bag(2, "web") == {"key": "text"}


def test_who_does_not_lead_any_more_may_not_write_under_its_term(world: World) -> None:
    _tick(world, "web/0")
    world.silence("web/0")
    assert world.elect("web") == "web/1"
    world.hear("web/0")
    with pytest.raises(errors.NotLeader):
        world.commit("web/0", write(2, Owner.APPLICATION, term=1, key="text"))
    again = world.grant("web/0")
    assert again is not None
    assert again.attempt == 2


def test_a_leader_that_comes_back_before_an_election_leads_on(world: World) -> None:
    world.silence("web/0")
    assert world.view("web/1").leader == ""
    world.hear("web/0")
    assert (world.elect("web"), world.applications["web"].term) == ("web/0", 1)


def test_units_that_have_started_are_elected_first() -> None:
    world = World()
    world.deploy("web", WEB, 3)
    settle(world, "web/2")
    world.silence("web/2")
    world.hear("web/2")
    for unit in ("web/0", "web/1", "web/2"):
        world.silence(unit)
    world.hear("web/1")
    world.hear("web/2")
    assert world.elect("web") == "web/2"


def test_the_setup_waits_for_an_election(world: World) -> None:
    settle(world)
    world.add_units("web")
    for unit in ("web/0", "web/1"):
        world.silence(unit)
    while (running := world.grant("web/2")) and running.event.kind is not EventKind.START:
        world.commit("web/2")
    assert "leader-elected" in told(world, "web/2")


def test_what_only_the_unit_sees_is_kept(world: World) -> None:
    _tick(world, "web/0")
    notice = Notice(ordinal=9, handler="on_start", event="start")
    same = Notice(ordinal=10, handler="on_start", event="start")
    port = Port(protocol="tcp", number=80)
    world.commit("web/0", Effects(state={"a": "1", "b": "2"}, opened=(port,), deferred=(notice, same)))
    unit = world.units["web/0"]
    assert (unit.state, unit.ports, unit.notices) == ({"a": "1", "b": "2"}, {port}, [notice])
    _tick(world, "web/0")
    world.commit("web/0", Effects(state={"a": None}, closed=(port,), consumed=(notice,)))
    assert (unit.state, unit.ports, unit.notices) == ({"b": "2"}, set(), [])


def test_missed_ticks_are_one(world: World) -> None:
    world.tick("web/0")
    world.tick("web/0")
    settle(world)
    assert told(world, "web/0").count("update-status") == 1
