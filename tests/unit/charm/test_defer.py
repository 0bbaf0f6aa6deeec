"""What is put off by `defer()`, when it comes back, and what it does to the order of events."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType

import pytest

from support.charm import Bags
from tinkwell import charm
from tinkwell.charm.attempt.dispatch import dispatch
from tinkwell.charm.attempt.given import Attempt, RelationGiven
from tinkwell.core.unit import notice
from tinkwell.core.unit.effect import Effects, Notice
from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.unit_event import Seen, UnitEvent

CONFIG = UnitEvent(kind=EventKind.CONFIG_CHANGED)
STATUS = UnitEvent(kind=EventKind.UPDATE_STATUS)
UPGRADE = UnitEvent(kind=EventKind.UPGRADE_CHARM)
START = UnitEvent(kind=EventKind.START)


@dataclass
class Unit:
    """Keeps the notices of a unit from one event to the next, as the server does."""

    charm_class: type[charm.Charm]
    notices: list[Notice] = field(default_factory=list)
    ordinal: int = 0
    relations: tuple[RelationGiven, ...] = ()
    bags: Bags = field(default_factory=Bags)

    async def tell(self, event: UnitEvent) -> Effects:
        self.ordinal += 1
        attempt = Attempt(
            unit="web/0",
            ordinal=self.ordinal,
            attempt=1,
            event=event,
            relations=self.relations,
            notices=tuple(self.notices),
        )
        result = await dispatch(self.charm_class, attempt, self.bags)
        self.notices = [each for each in self.notices if each not in result.consumed] + list(result.deferred)
        return result


def recording(times: int) -> tuple[type[charm.Charm], list[str]]:
    """Make a charm that defers config-changed so many times, and the list of what it consumes, and what it puts off."""
    told: list[str] = []
    left = [times]

    class Recorder(charm.Charm):
        @charm.on.config_changed
        async def first(self, event: charm.ConfigChanged) -> None:
            if left[0]:
                left[0] -= 1
                told.append("1 deferred")
                return event.defer()
            told.append("1")
            return None

        @charm.on.update_status
        async def second(self, event: charm.UpdateStatus) -> None:
            told.append("2")

        @charm.on.upgrade_charm
        async def third(self, event: charm.UpgradeCharm) -> None:
            told.append("3")

    return Recorder, told


@pytest.mark.parametrize(
    ("times", "expected", "waiting"),
    [
        (0, ["1", "2", "3"], [0, 0, 0]),
        (1, ["1 deferred", "1", "2", "3"], [1, 0, 0]),
        (2, ["1 deferred", "1 deferred", "2", "1", "3"], [1, 1, 0]),
        (3, ["1 deferred", "1 deferred", "2", "1 deferred", "3"], [1, 1, 1]),
    ],
)
async def test_an_event_deferred_once_keeps_its_place_and_twice_is_overtaken(
    times: int, expected: list[str], waiting: list[int]
) -> None:
    recorder, told = recording(times)
    unit = Unit(recorder)
    counts = []
    for event in (CONFIG, STATUS, UPGRADE):
        await unit.tell(event)
        counts.append(len(unit.notices))
    assert told == expected
    assert counts == waiting


async def test_an_event_without_handlers_drains_what_waits() -> None:
    recorder, told = recording(1)
    unit = Unit(recorder)
    await unit.tell(CONFIG)
    result = await unit.tell(START)
    assert told == ["1 deferred", "1"]
    assert [each.handler for each in result.consumed] == ["first"]


async def test_a_notice_that_is_deferred_again_keeps_its_place_before_later_ones() -> None:
    told: list[str] = []
    stubborn = [2]

    class Two(charm.Charm):
        @charm.on.config_changed
        async def config(self, event: charm.ConfigChanged) -> None:
            if stubborn[0]:
                stubborn[0] -= 1
                return event.defer()
            told.append("config")
            return None

        @charm.on.update_status
        async def tick(self, event: charm.UpdateStatus) -> None:
            if not event.is_again:
                return event.defer()
            told.append("tick")
            return None

    unit = Unit(Two)
    await unit.tell(CONFIG)
    await unit.tell(STATUS)
    assert [each.handler for each in unit.notices] == ["config", "tick"]
    await unit.tell(START)
    assert told == ["config", "tick"]
    assert unit.notices == []


async def test_only_the_handler_that_deferred_is_called_again_from_its_beginning() -> None:
    told: list[str] = []

    class Pair(charm.Charm):
        @charm.on.config_changed
        async def one(self, event: charm.ConfigChanged) -> None:
            told.append("one")
            if not event.is_again:
                event.defer()
            told.append("its end")

        @charm.on.config_changed
        async def two(self, event: charm.ConfigChanged) -> None:
            told.append("two")

    unit = Unit(Pair)
    await unit.tell(CONFIG)
    await unit.tell(START)
    assert told == ["one", "its end", "two", "one", "its end"]


async def test_a_notice_that_is_equal_to_a_waiting_one_is_not_added() -> None:
    class Never(charm.Charm):
        @charm.on.config_changed
        async def never(self, event: charm.ConfigChanged) -> None:
            event.defer()

    unit = Unit(Never)
    await unit.tell(CONFIG)
    result = await unit.tell(dataclasses.replace(CONFIG, seen=Seen(config=7)))
    assert result.deferred == ()
    assert [each.ordinal for each in unit.notices] == [1]


async def test_events_of_two_units_are_two_notices() -> None:
    class Never(charm.Charm):
        db = charm.Requires("db", interface="postgresql")

        @db.changed
        async def never(self, event: charm.RelationChanged) -> None:
            event.defer()

    relation = RelationGiven(number=3, endpoint="db", application="pg", is_peer=False, units=("pg/0", "pg/1"))
    unit = Unit(Never, relations=(relation,))
    for remote in ("pg/0", "pg/1", "pg/0", ""):
        await unit.tell(changed(remote))
    assert [notice.read(each.event).unit for each in unit.notices] == ["pg/0", "pg/1", ""]


async def test_a_failure_leaves_the_notices_as_they_were() -> None:
    told: list[str] = []

    class Failing(charm.Charm):
        @charm.on.config_changed
        async def config(self, event: charm.ConfigChanged) -> None:
            told.append("config")
            if not event.is_again:
                event.defer()

        @charm.on.update_status
        async def tick(self, event: charm.UpdateStatus) -> None:
            raise KeyError("dsn")

    unit = Unit(Failing)
    await unit.tell(CONFIG)
    before = list(unit.notices)
    with pytest.raises(KeyError, match="dsn"):
        await unit.tell(STATUS)
    assert unit.notices == before
    await unit.tell(START)
    assert told == ["config", "config", "config"]
    assert unit.notices == []


@pytest.mark.parametrize(("kind", "hook"), [(EventKind.STOP, charm.on.stop), (EventKind.REMOVE, charm.on.remove)])
async def test_stop_and_remove_cannot_be_deferred(kind: EventKind, hook: Callable[..., object]) -> None:
    async def last(self: charm.Charm, event: charm.Event) -> None:
        event.defer()

    hook(last)
    last_charm = type("Last", (charm.Charm,), {"last": last})
    with pytest.raises(charm.CannotDefer, match=kind):
        await Unit(last_charm).tell(UnitEvent(kind=kind))


async def test_a_relation_that_is_gone_comes_back_as_inactive() -> None:
    seen: list[tuple[bool, dict[str, str], str]] = []

    class Later(charm.Charm):
        db = charm.Requires("db", interface="postgresql")

        @db.changed
        async def later(self, event: charm.RelationChanged) -> None:
            if not event.is_again:
                return event.defer()
            seen.append((self.db[event.relation].is_active, dict(event.remote), event.unit))
            with pytest.raises(charm.RelationGone):
                self.db[event.relation].unit["ready"] = "yes"
            return None

    bags = Bags({(3, "pg/0"): {"dsn": "x"}})
    unit = Unit(
        Later,
        relations=(RelationGiven(number=3, endpoint="db", application="pg", is_peer=False, units=("pg/0",)),),
        bags=bags,
    )
    await unit.tell(changed("pg/0"))
    unit.relations = ()
    await unit.tell(START)
    assert seen == [(False, {}, "pg/0")]
    assert unit.notices == []


async def test_a_storage_that_is_gone_comes_back_as_detached() -> None:
    seen: list[bool] = []

    class Later(charm.Charm):
        data = charm.Storage("data")

        @data.attached
        async def later(self, event: charm.StorageAttached) -> None:
            if not event.is_again:
                return event.defer()
            seen.append(event.storage.is_attached)
            with pytest.raises(charm.StorageMissing, match="data/0 is gone"):
                _ = event.storage.path
            return None

    unit = Unit(Later)
    await unit.tell(UnitEvent(kind=EventKind.STORAGE_ATTACHED, storage="data/0"))
    await unit.tell(START)
    assert seen == [False]
    assert unit.notices == []


async def test_a_notice_of_a_newer_release_is_left_to_that() -> None:
    recorder, told = recording(0)
    unit = Unit(recorder, notices=[Notice(ordinal=4, handler="first", event='{"kind":"unheard-of"}')])
    result = await unit.tell(STATUS)
    assert result.consumed == ()
    assert told == ["2"]


async def test_an_event_that_comes_back_sees_the_bag_as_it_is_now() -> None:
    seen: list[str] = []

    class Later(charm.Charm):
        db = charm.Requires("db", interface="postgresql")

        @db.changed
        async def later(self, event: charm.RelationChanged) -> None:
            seen.append(event.remote["dsn"])
            if not event.is_again:
                event.defer()

    bags = Bags({(3, "pg/0"): {"dsn": "old"}})
    relation = RelationGiven(number=3, endpoint="db", application="pg", is_peer=False, units=("pg/0",))
    unit = Unit(Later, relations=(relation,), bags=bags)
    await unit.tell(changed("pg/0"))
    bags.data[3, "pg/0"] = MappingProxyType({"dsn": "new"})
    await unit.tell(START)
    assert seen == ["old", "new"]


async def test_a_notice_whose_handler_is_gone_is_done() -> None:
    recorder, told = recording(0)
    unit = Unit(recorder, notices=[Notice(ordinal=4, handler="former", event=notice.write(CONFIG))])
    result = await unit.tell(STATUS)
    assert [each.ordinal for each in result.consumed] == [4]
    assert told == ["2"]


def changed(remote: str) -> UnitEvent:
    return UnitEvent(kind=EventKind.RELATION_CHANGED, relation=3, endpoint="db", application="pg", unit=remote)
