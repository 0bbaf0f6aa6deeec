"""The example in the appendix of the document, event for event, in both profiles, whatever the order between units."""

import random

import pytest

from tinkwell.core.unit.effect import BagEdit, Effects
from tinkwell.core.unit.kinds import EventKind, Owner, Profile
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.world import Charm, Endpoint, Role, World

A = Charm("a", "charm-a", {"R": Endpoint(Role.PROVIDES, "link")})
B = Charm("b", "charm-b", {"R": Endpoint(Role.REQUIRES, "link")})


class Scene:
    """The example's world, in which units take turns by chance."""

    def __init__(self, profile: Profile, seed: int) -> None:
        self.world = World()
        self.world.deploy("a", A, profile=profile)
        self.world.deploy("b", B, profile=profile)
        self.relation = 0
        self._chance = random.Random(seed)
        self._read: dict[str, int] = {}
        self.told()

    def told(self) -> dict[str, list[str]]:
        """Let the units run what is due, and return what each was told of the relation meanwhile."""
        while units := [unit for unit in self.world.living() if self.world.is_busy(unit)]:
            unit = self._chance.choice(units)
            if self.world.running(unit):
                self.world.commit(unit)
            else:
                self.world.grant(unit)
        new = {}
        for unit in ("a/0", "a/1", "b/0"):
            stream = [each.event for each in self.world.stream(unit) if each.event.relation]
            names = [_name(event) for event in stream[self._read.get(unit, 0) :]]
            self._read[unit] = len(stream)
            if names:
                new[unit] = names
        return new

    def touch(self) -> None:
        """Have a/0 write to its bag in a handler of update-status."""
        self.world.tick("a/0")
        self.world.grant("a/0")
        edit = BagEdit(relation=self.relation, owner=Owner.UNIT, edits={"touched": "yes"})
        self.world.commit("a/0", Effects(bags=(edit,)))


def _name(event: UnitEvent) -> str:
    name = event.kind.removeprefix("relation-")
    return f"{name} {event.unit}" if event.unit else name


def _play(profile: Profile, seed: int) -> tuple[Scene, list[dict[str, list[str]]]]:
    """Go through the example; return what was told after each of its steps."""
    scene = Scene(profile, seed)
    steps = []
    scene.relation = scene.world.relate("a:R", "b:R")
    steps.append(scene.told())
    scene.world.add_units("a")
    steps.append(scene.told())
    scene.world.remove_unit("a/1")
    steps.append(scene.told())
    scene.touch()
    steps.append(scene.told())
    scene.world.unrelate(scene.relation)
    steps.append(scene.told())
    assert scene.world.check(is_at_rest=True) == []
    return scene, steps


@pytest.mark.parametrize("seed", range(8))
def test_the_example_is_told_as_the_document_shows_it(seed: int) -> None:
    _, steps = _play(Profile.LITERAL, seed)
    assert steps == [
        {"a/0": ["created", "joined b/0", "changed b/0"], "b/0": ["created", "joined a/0", "changed a/0"]},
        {
            "a/1": ["created", "joined b/0", "changed b/0"],
            "b/0": ["joined a/1", "changed a/1"],
            "a/0": ["joined a/1", "changed a/1"],
        },
        {"a/1": ["departed b/0", "broken"], "b/0": ["departed a/1"], "a/0": ["departed a/1"]},
        {"a/0": ["changed a/0"], "b/0": ["changed a/0"]},
        {"a/0": ["departed b/0", "broken"], "b/0": ["departed a/0", "broken"]},
    ]


@pytest.mark.parametrize("seed", range(8))
def test_juju_tells_a_unit_neither_of_its_siblings_nor_of_its_own_writes(seed: int) -> None:
    _, steps = _play(Profile.JUJU, seed)
    assert steps == [
        {"a/0": ["created", "joined b/0", "changed b/0"], "b/0": ["created", "joined a/0", "changed a/0"]},
        {"a/1": ["created", "joined b/0", "changed b/0"], "b/0": ["joined a/1", "changed a/1"]},
        {"a/1": ["departed b/0", "broken"], "b/0": ["departed a/1"]},
        {"b/0": ["changed a/0"]},
        {"a/0": ["departed b/0", "broken"], "b/0": ["departed a/0", "broken"]},
    ]


@pytest.mark.parametrize("profile", Profile)
def test_who_leaves_is_told_first(profile: Profile) -> None:
    for seed in range(3):
        scene, _ = _play(profile, seed)
        entries = [entry for entry in scene.world.records() if entry.resource_type == "UNIT_EVENT"]
        broken = next(
            entry.revision
            for entry in entries
            if (entry.event_type, entry.data["unit"]) == ("UNIT_EVENT_COMMITTED", "a/1")
            and entry.data["kind"] == EventKind.RELATION_BROKEN
        )
        departed = [
            entry.revision
            for entry in entries
            if entry.event_type == "UNIT_EVENT_STARTED"
            and entry.data["kind"] == EventKind.RELATION_DEPARTED
            and entry.data["unit"] != "a/1"
        ]
        assert broken < min(departed)


def test_the_leaver_is_named_as_the_one_that_departs() -> None:
    scene, _ = _play(Profile.LITERAL, 1)
    departed = {
        unit: [each.event.departing_unit for each in scene.world.stream(unit) if each.event.departing_unit]
        for unit in ("a/0", "a/1", "b/0")
    }
    assert departed == {"a/1": ["a/1"], "a/0": ["a/1", "b/0"], "b/0": ["a/1", "a/0"]}
