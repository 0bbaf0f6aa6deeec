"""Charms in a model: their events are those of a server, whatever fails, and every seed ends the same way."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tinkwell import charm
from tinkwell.charm.testing import Model
from tinkwell.core import errors
from tinkwell.core.unit.kinds import EventKind


class Postgres(charm.Charm, name="pg"):
    """A database, for tests."""

    db = charm.Provides("db", interface="postgresql")
    password = charm.Option(str, default="secret")

    @charm.on.config_changed
    @charm.on.leader_elected
    @db.created
    async def publish(self, event: charm.Event) -> None:
        if self.is_leader:
            for relation in self.db:
                relation.application["dsn"] = f"{self.application}:{self.password}"
        self.status = charm.Active()


class Web(charm.Charm):
    """A page, which needs a database."""

    db = charm.Requires("db", interface="postgresql")
    cluster = charm.Peer("cluster", interface="web-cluster")
    data = charm.Storage("data")
    cache = charm.Storage("cache", minimum=0, maximum=None)

    @charm.on.install
    async def install(self, event: charm.Install) -> None:
        (self.data.one().path / "index.html").write_text("hello")

    @db.changed
    async def database(self, event: charm.RelationChanged) -> None:
        if event.unit:
            return None
        if (dsn := event.remote.get("dsn")) is None:
            self.status = charm.Waiting("for the database")
            return event.defer()
        self.state["dsn"] = dsn
        self.db[event.relation].unit["ready"] = "yes"
        self.status = charm.Active(dsn)
        return None

    @charm.on.update_status
    async def grow(self, event: charm.UpdateStatus) -> None:
        self.cache.request()


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    yield model
    model.check()


@pytest.mark.parametrize("seed", range(10))
async def test_two_applications_find_each_other_in_every_order(model: Model, seed: int) -> None:
    model.deploy(Web, units=2)
    model.deploy(Postgres)
    number = model.relate("web:db", "pg:db")
    await model.settle(seed=seed)
    assert [model.status(each) for each in model.units("web")] == [charm.Active("pg:secret")] * 2
    assert model.bag(number, "web/1") == {"ready": "yes"}
    told = model.events("web/0")
    assert told[:2] == ["data-storage-attached", "install"]
    assert set(told[2:4]) == {"cluster-relation-created", "db-relation-created"}
    assert told[5:7] == ["config-changed", "start"]
    assert "db-relation-changed" in told
    assert model.deferred("web/0") == []


async def test_a_change_of_configuration_reaches_the_other_side(model: Model) -> None:
    model.deploy(Web)
    model.deploy(Postgres, name="db", config={"password": "a"})
    model.relate("web", "db")
    await model.settle()
    assert model.state("web/0") == {"dsn": "db:a"}
    model.set_config("db", {"password": "b"})
    await model.settle()
    assert model.state("web/0") == {"dsn": "db:b"}
    with pytest.raises(errors.InvalidField, match="no such option"):
        model.set_config("db", {"pasword": "c"})


@pytest.mark.parametrize("seed", range(5))
async def test_failures_and_kills_repeat_handlers_and_not_effects(model: Model, seed: int) -> None:
    called: list[str] = []

    class Counter(charm.Charm):
        @charm.on.install
        async def install(self, event: charm.Install) -> None:
            called.append(self.unit)
            self.state["n"] = str(int(self.state.get("n", "0")) + 1)

    model.deploy(Counter, units=2)
    model.fail_next("counter/0", times=2)
    model.kill("counter/1")
    await model.settle(seed=seed)
    assert sorted(called) == ["counter/0", "counter/1", "counter/1"]
    assert [model.state(each)["n"] for each in model.units("counter")] == ["1", "1"]


async def test_scaling_down_tears_down_and_elects_another_leader(model: Model) -> None:
    model.deploy(Web, units=3)
    await model.settle()
    assert model.leader("web") == "web/0"
    model.remove_unit("web/0")
    await model.settle()
    assert model.leader("web") == "web/1"
    assert model.units("web") == ("web/1", "web/2")
    assert model.events("web/0")[-2:] == ["stop", "remove"]
    assert model.scale("web", 1) == ("web/1",)
    await model.settle()
    assert model.scale("web", 2) == ("web/1", "web/3")
    await model.settle()


async def test_removal_breaks_relations_on_both_sides(model: Model) -> None:
    model.deploy(Web)
    model.deploy(Postgres)
    model.unrelate(model.relate("web:db", "pg:db"))
    model.relate("web:db", "pg:db")
    await model.settle()
    model.remove("pg")
    await model.settle()
    assert model.events("web/0")[-2:] == ["db-relation-departed pg/0", "db-relation-broken"]
    model.remove("web")
    await model.settle()
    assert model.units("web") == ()


async def test_a_unit_gets_the_storage_that_it_asks_for(model: Model) -> None:
    model.deploy(Web)
    await model.settle()
    model.tick("web/0")
    await model.settle()
    assert model.events("web/0")[-2:] == ["update-status", "cache-storage-attached"]


async def test_an_exception_goes_through_with_a_note_and_the_next_try_may_succeed(model: Model) -> None:
    broken = [True]

    class Flaky(charm.Charm):
        @charm.on.start
        async def start(self, event: charm.Start) -> None:
            if broken:
                raise RuntimeError("not yet")

    model.deploy(Flaky)
    with pytest.raises(RuntimeError, match="not yet") as caught:
        await model.settle()
    assert caught.value.__notes__ == ["in flaky/0 #4 start"]
    broken.clear()
    await model.settle()
    assert model.events("flaky/0")[-1] == "start"


@pytest.mark.parametrize("profile", charm.Profile)
@pytest.mark.parametrize("seed", range(6))
async def test_whatever_is_done_to_applications_their_lives_are_legal(seed: int, profile: charm.Profile) -> None:
    draw, model = random.Random(seed), Model(profile=profile)
    model.deploy(Web, units=2)
    model.deploy(Postgres, units=2)
    relations: list[int] = []
    for step in range(15):
        match draw.choice(["scale", "relate", "config", "unit", "unit", "settle"]):
            case "scale":
                model.scale(draw.choice(["web", "pg"]), draw.randint(1, 3))
            case "relate" if relations:
                model.unrelate(relations.pop())
            case "relate":
                relations.append(model.relate("web:db", "pg:db"))
            case "config":
                model.set_config("pg", {"password": str(step)})
            case "unit":
                disturb(model, draw)
            case _:
                await model.settle(seed=seed)
    await model.settle(seed=seed)
    model.check()


def disturb(model: Model, draw: random.Random) -> None:
    """Do something to a unit."""
    for unit in draw.sample(found := [*model.units("web"), *model.units("pg")], min(len(found), 1)):
        match draw.choice(["fail", "kill", "tick", "force"]):
            case "fail":
                model.fail_next(unit)
            case "kill":
                model.kill(unit)
            case "tick":
                model.tick(unit)
            case _ if len(model.units("web")) > 1 and len(model.units("pg")) > 1:
                model.remove_unit(unit, force=True)
            case _:
                model.remove_unit(unit)


async def test_an_upgrade_runs_the_new_code(model: Model) -> None:
    class Second(Postgres, name="pg"):
        @charm.on.upgrade_charm
        async def upgraded(self, event: charm.UpgradeCharm) -> None:
            self.state["code"] = "second"

    model.deploy(Postgres)
    await model.settle()
    model.upgrade("pg", Second)
    await model.settle()
    assert model.state("pg/0") == {"code": "second"}
    assert model.events("pg/0")[-3:] == ["upgrade-charm", "config-changed", "start"]


async def test_a_handler_that_always_fails_is_told_of_and_so_is_an_unreadable_bag(model: Model) -> None:
    class Nosy(charm.Charm):
        db = charm.Requires("db", interface="postgresql")

        @db.created
        async def look(self, event: charm.RelationCreated) -> None:
            with pytest.raises(charm.NotReadable, match="web/0"):
                await event.relation.read("web/0")

    model.deploy(Nosy)
    model.deploy(Postgres)
    model.deploy(Web)
    model.relate("nosy", "pg")
    await model.settle()


async def test_metrics_come_when_asked_for(model: Model) -> None:
    model.deploy(Postgres)
    await model.settle()
    model.request("pg/0", EventKind.COLLECT_METRICS)
    await model.settle()
    assert model.events("pg/0")[-1] == "collect-metrics"


def test_a_model_leaves_nothing_behind() -> None:
    model = Model()
    folder = model._folder
    assert folder.is_dir()
    del model
    assert not Path(folder).exists()
