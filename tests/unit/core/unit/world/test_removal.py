"""Removals, by force or not, at every point of a life: others are told, and nothing is left."""

from collections.abc import Iterator

import pytest
from unit.core.unit_scene import PG, WEB, settle, step, told

from tinkwell.core.unit.kinds import EventState, Life, Profile
from tinkwell.core.unit.world import World

UNITS = (0, 1, 5)


def _related(units: int, profile: Profile = Profile.LITERAL) -> World:
    world = World()
    world.deploy("web", WEB, units, profile=profile)
    world.deploy("pg", PG, profile=profile)
    world.relate("web:db", "pg:db")
    return world


def _every_point() -> Iterator[World]:
    """Yield a world at each step of web/0: with an event that is not granted yet, runs, has failed or was lost."""
    world = _related(2)
    settle(world, "pg/0", "web/1")
    for _ in range(100):
        yield world.copy()
        if world.running("web/0"):
            failed = world.copy()
            failed.fail("web/0", "it was to fail")
            yield failed
            lost = world.copy()
            lost.lose("web/0")
            yield lost
        if not world.is_busy("web/0"):
            return
        step(world, "web/0")


def _left(world: World) -> list[object]:
    return [*world.applications, *world.units, *world.relations, *world.storages]


def test_a_unit_may_be_removed_by_force_at_every_point() -> None:
    points = 0
    for world in _every_point():
        running = world.running("web/0")
        world.remove_unit("web/0", is_forced=True)
        assert "web/0" not in world.living()
        if running is not None:
            abandoned = [entry for entry in world.records() if entry.data.get("state") == EventState.ABANDONED]
            assert [entry.data["ordinal"] for entry in abandoned] == [running.ordinal]
        settle(world)
        assert world.check(is_at_rest=True) == []
        assert "web/0" not in world.units
        points += 1
    assert points > 30


def test_a_unit_may_be_removed_at_every_point() -> None:
    for world in _every_point():
        world.remove_unit("web/0")
        settle(world)
        assert world.check(is_at_rest=True) == []
        assert "web/0" not in world.units


def test_an_application_may_be_removed_at_every_point() -> None:
    for world in _every_point():
        world.remove_application("web")
        settle(world)
        world.remove_application("pg")
        settle(world)
        assert world.check(is_at_rest=True) == []
        assert _left(world) == []


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("is_forced", [False, True])
@pytest.mark.parametrize("units", UNITS)
def test_nothing_is_left_of_an_application(units: int, is_forced: bool, profile: Profile) -> None:
    world = _related(units, profile)
    settle(world)
    world.remove_application("web", is_forced=is_forced)
    settle(world)
    assert (list(world.applications), list(world.relations), list(world.storages)) == (["pg"], [], [])
    assert told(world, "pg/0")[-1] == "db-relation-broken"
    assert world.check(is_at_rest=True) == []


def test_both_sides_of_an_application_that_goes_break_at_the_same_time() -> None:
    world = _related(1)
    settle(world)
    world.remove_application("web")
    settle(world, "pg/0")
    assert told(world, "pg/0")[-2:] == ["db-relation-departed web/0", "db-relation-broken"]
    assert told(world, "web/0")[-1] != "remove"


def test_a_unit_that_was_told_nothing_is_gone_at_once() -> None:
    world = _related(1)
    world.remove_unit("web/0")
    assert "web/0" not in world.units


def test_a_unit_whose_install_has_failed_goes_without_it() -> None:
    world = World()
    world.deploy("pg", PG)
    world.grant("pg/0")
    world.fail("pg/0", "no network")
    world.remove_unit("pg/0")
    assert world.units["pg/0"].life is Life.DYING
    assert world.grant("pg/0") is None
    assert "pg/0" not in world.units
    assert world.stream("pg/0") == []


def test_the_storage_of_a_unit_goes_with_it_unless_it_is_kept() -> None:
    for keeps in (False, True):
        world = _related(1)
        settle(world)
        world.remove_unit("web/0", keep_storage=keeps)
        settle(world)
        assert [*world.storages] == (["data/0"] if keeps else [])


def test_teardown_says_why_it_comes_and_who_asked() -> None:
    world = _related(2)
    settle(world)
    world.remove_unit("web/1", actor="ann")
    settle(world)
    asked = {
        (entry.data["unit"], entry.data["reason"], entry.data["leaving"], entry.data["actor"])
        for entry in world.records()
        if entry.data.get("reason")
    }
    assert asked == {
        ("web/1", "UNIT_REMOVED", "SELF", "ann"),
        ("web/0", "UNIT_REMOVED", "REMOTE", "ann"),
        ("pg/0", "UNIT_REMOVED", "REMOTE", "ann"),
    }


def test_a_forced_removal_is_told_as_such() -> None:
    world = _related(2)
    settle(world)
    world.remove_unit("web/1", is_forced=True, actor="ann")
    settle(world)
    asked = {entry.data["reason"] for entry in world.records() if entry.data.get("reason")}
    assert asked == {"FORCED"}


def test_a_unit_is_kept_until_those_that_were_told_of_it_know_that_it_left() -> None:
    world = _related(1)
    settle(world)
    world.remove_unit("web/0", is_forced=True)
    assert world.units["web/0"].life is Life.DEAD
    settle(world)
    assert "web/0" not in world.units
