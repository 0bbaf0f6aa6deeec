"""What a class of charms declares, what its handlers see, and what they leave."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.charm import Bags
from tinkwell import charm
from tinkwell.charm.attempt.dispatch import dispatch
from tinkwell.charm.attempt.given import Attempt, RelationGiven
from tinkwell.core.unit.effect import BagEdit, Effects, Port, StorageRequest
from tinkwell.core.unit.kinds import EventKind, Owner
from tinkwell.core.unit.unit_event import UnitEvent

INSTALL = UnitEvent(kind=EventKind.INSTALL)
CLUSTER = RelationGiven(number=1, endpoint="cluster", application="web", is_peer=True, own_application={"vote": "1"})
DB = RelationGiven(
    number=3, endpoint="db", application="pg", is_peer=False, units=("pg/0", "pg/1"), own={"a": "1", "b": "2"}
)


class Web(charm.Charm):
    """Serves one page;
    needs a database.

    More about it.
    """

    db = charm.Requires("db", interface="postgresql")
    site = charm.Provides("site", interface="http")
    cluster = charm.Peer("cluster", interface="web-cluster")
    data = charm.Storage("data", minimum=0, maximum=None)
    workers = charm.Option(int, default=2, minimum=1)
    title = charm.Option(str)
    ratio = charm.Option(float, default=0.5)
    is_public = charm.Option(bool, default=True, description="Whether all may see it.")


async def run(
    body: Callable[[Any, Any], Any],
    event: UnitEvent = INSTALL,
    hook: Callable[..., object] = charm.on.install,
    bags: Bags | None = None,
    **given: Any,
) -> Effects:
    """Have one handler of `Web` run, and return the effects."""

    async def handler(self: Web, event: charm.Event) -> None:
        found = body(self, event)
        if hasattr(found, "__await__"):
            await found

    hook(handler)
    made = type("Tried", (Web,), {"handler": handler})
    attempt = Attempt(unit="web/0", ordinal=1, attempt=1, event=event, **given)
    return await dispatch(made, attempt, bags or Bags())


async def test_the_handlers_of_an_event_are_called_in_the_order_of_the_class() -> None:
    told: list[str] = []

    class Base(charm.Charm):
        @charm.on.install
        async def one(self, event: charm.Install) -> None:
            told.append("one")

        @charm.on.install
        async def two(self, event: charm.Install) -> None:
            told.append("two")

    class Derived(Base):
        @charm.on.start
        @charm.on.install
        async def three(self, event: charm.Install | charm.Start) -> None:
            told.append(f"three {event.kind}")

        @charm.on.install
        async def one(self, event: charm.Install) -> None:
            told.append("another one")

    for event in (INSTALL, UnitEvent(kind=EventKind.START)):
        await dispatch(Derived, Attempt(unit="web/0", ordinal=1, attempt=1, event=event), Bags())
    assert told == ["another one", "two", "three install", "three start"]


async def test_a_relation_handler_hears_its_endpoint_alone() -> None:
    told: list[str] = []

    class Two(charm.Charm):
        db = charm.Requires("db", interface="postgresql")
        cache = charm.Requires("cache", interface="redis")

        @cache.changed
        async def of_cache(self, event: charm.RelationChanged) -> None:
            told.append("cache")

        @db.changed
        async def of_db(self, event: charm.RelationChanged) -> None:
            told.append("db")

    event = UnitEvent(kind=EventKind.RELATION_CHANGED, relation=3, endpoint="db", application="pg", unit="pg/0")
    await dispatch(Two, Attempt(unit="web/0", ordinal=1, attempt=1, event=event, relations=(DB,)), Bags())
    assert told == ["db"]


async def test_what_is_written_is_read_and_only_differences_are_effects() -> None:
    def write(web: Web, event: charm.Event) -> None:
        bag = web.db[3].unit
        bag["a"] = "1"
        bag["c"] = "3"
        del bag["b"]
        web.state["n"] = "1"
        assert dict(bag) == {"a": "1", "c": "3"}

    result = await run(write, relations=(DB,), state={"n": "1", "m": "2"})
    assert result.bags == (BagEdit(relation=3, owner=Owner.UNIT, edits={"c": "3", "b": None}),)
    assert result.state == {}


async def test_values_of_bags_are_strings() -> None:
    def write(web: Web, event: charm.Event) -> None:
        web.state["n"] = 1  # type: ignore[assignment]

    with pytest.raises(TypeError, match="use str"):
        await run(write)


@pytest.mark.parametrize("is_leader", [True, False])
async def test_only_the_leader_writes_the_bag_of_its_application(is_leader: bool) -> None:
    def write(web: Web, event: charm.Event) -> None:
        web.db[3].application["dsn"] = "x"

    bags = Bags(is_leader=is_leader)
    if is_leader:
        result = await run(write, bags=bags, relations=(DB,), term=4)
        assert result.bags == (BagEdit(relation=3, owner=Owner.APPLICATION, edits={"dsn": "x"}),)
        assert result.term == 4
    else:
        with pytest.raises(charm.NotLeader, match="web/0 does not lead web"):
            await run(write, bags=bags, relations=(DB,))


async def test_peers_read_the_bag_of_their_application_and_others_do_not() -> None:
    def read(web: Web, event: charm.Event) -> None:
        relation = web.cluster.only()
        assert relation is not None
        assert dict(relation.application) == {"vote": "1"}
        with pytest.raises(charm.NotLeader):
            web.db[3].application.get("dsn")

    await run(read, relations=(CLUSTER, DB))


async def test_an_option_has_its_value_or_its_default() -> None:
    def read(web: Web, event: charm.Event) -> None:
        assert (web.workers, web.title, web.ratio, web.is_public) == (5, None, 2.0, True)
        assert isinstance(web.ratio, float)
        with pytest.raises(charm.CharmError):
            web.workers = 3

    await run(read, config={"workers": 5, "ratio": 2})


async def test_ports_that_differ_are_effects() -> None:
    def change(web: Web, event: charm.Event) -> None:
        web.open_port(80)
        web.open_port(443)
        web.close_port(443)
        web.close_port(53, "udp")
        with pytest.raises(ValueError, match="70000 is no port"):
            web.open_port(70000)

    result = await run(change, ports=frozenset({Port(protocol="udp", number=53)}))
    assert result.opened == (Port(protocol="tcp", number=80),)
    assert result.closed == (Port(protocol="udp", number=53),)


async def test_a_unit_finds_its_storage_and_asks_for_more() -> None:
    def look(web: Web, event: charm.Event) -> None:
        assert [each.name for each in web.data.all()] == ["data/2", "data/10"]
        with pytest.raises(charm.StorageMissing, match="has 2 storages data"):
            web.data.one()
        web.data.request(2)
        web.data.request()

    result = await run(look, storages={"data/10": Path("/s/10"), "data/2": Path("/s/2"), "logs/1": Path("/s/1")})
    assert result.storages == (StorageRequest(storage="data", count=3),)


async def test_a_storage_event_has_the_folder() -> None:
    found: list[charm.Instance] = []
    await run(
        lambda _, event: found.append(event.storage),
        event=UnitEvent(kind=EventKind.STORAGE_ATTACHED, storage="data/2"),
        hook=Web.data.attached,
        storages={"data/2": Path("/s/2")},
    )
    assert found == [charm.Instance("data/2", Path("/s/2"))]


@pytest.mark.parametrize(
    ("event", "reads", "remote"),
    [
        (UnitEvent(kind=EventKind.RELATION_CHANGED, endpoint="db", relation=3, application="pg", unit="pg/1"),
         [(3, "pg/1")], {"dsn": "1"}),
        (UnitEvent(kind=EventKind.RELATION_CHANGED, endpoint="db", relation=3, application="pg"),
         [(3, "pg")], {"dsn": "app"}),
        (UnitEvent(kind=EventKind.RELATION_CHANGED, endpoint="db", relation=3, application="web", unit="web/0",
                   is_echo=True), [], {"a": "1", "b": "2"}),
    ],
)  # fmt: skip
async def test_the_remote_bag_is_that_of_the_unit_or_else_the_application(
    event: UnitEvent, reads: list[tuple[int, str]], remote: dict[str, str]
) -> None:
    bags = Bags({(3, "pg/1"): {"dsn": "1"}, (3, "pg"): {"dsn": "app"}})
    seen: list[dict[str, str]] = []

    async def look(web: Web, event: charm.RelationChanged) -> None:
        seen.append(dict(event.remote))
        if event.unit == "pg/1":
            await event.relation.read("pg/1")

    await run(look, event=event, hook=Web.db.changed, bags=bags, relations=(DB,))
    assert seen == [remote]
    assert bags.reads == reads


async def test_statuses_are_told_at_once_also_if_the_event_fails() -> None:
    bags = Bags()

    def fail(web: Web, event: charm.Event) -> None:
        web.status = charm.Maintenance("at work")
        web.set_workload_version("1.2")
        with pytest.raises(charm.NotLeader):
            web.application_status = charm.Active()
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        await run(fail, bags=bags)
    assert bags.statuses == [charm.Maintenance("at work")]
    assert bags.versions == ["1.2"]
    assert bags.application_statuses == []


def test_a_handler_must_be_async() -> None:
    def plain(self: charm.Charm, event: charm.Install) -> None:
        """Do nothing."""

    with pytest.raises(charm.DeclarationError, match="plain handles install, so it must be declared by async def"):
        charm.on.install(plain)  # type: ignore[arg-type]


def test_two_things_cannot_have_one_name() -> None:
    with pytest.raises(charm.DeclarationError, match="declares db twice"):
        type("Bad", (charm.Charm,), {"a": charm.Requires("db", interface="x"), "b": charm.Storage("db")})


def test_what_the_library_needs_cannot_be_redefined() -> None:
    with pytest.raises(charm.DeclarationError, match=r"Bad\.status is a name that Charm has"):
        type("Bad", (charm.Charm,), {"status": charm.Option(str)})


def test_a_handler_of_an_endpoint_of_another_class_is_refused() -> None:
    async def handler(self: charm.Charm, event: charm.RelationChanged) -> None:
        """Do nothing."""

    charm.Requires("other", interface="x").changed(handler)
    with pytest.raises(charm.DeclarationError, match="handler handles relation-changed of other"):
        type("Bad", (charm.Charm,), {"handler": handler})
