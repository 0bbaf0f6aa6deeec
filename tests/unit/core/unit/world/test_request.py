"""What operators ask of a world: what is refused, and changes nothing, and what each request begins."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from unit.core.unit_scene import PG, WEB, settle, told, write

from tinkwell.core import errors
from tinkwell.core.unit.kinds import EventKind, Life, Profile
from tinkwell.core.unit.world import Charm, Endpoint, Role, World


@pytest.fixture
def world() -> World:
    """Return web and pg with a unit each, which are related and at rest."""
    world = World()
    world.deploy("web", WEB)
    world.deploy("pg", PG)
    world.relate("web", "pg:db")
    settle(world)
    return world


def _new_web(**endpoints: Endpoint) -> Charm:
    return replace(WEB, digest="web-2", endpoints={**WEB.endpoints, **endpoints})


REFUSED: dict[str, tuple[type[errors.TinkwellError], Callable[[World], object]]] = {
    "an application that is there": (errors.AlreadyExists, lambda world: world.deploy("web", WEB)),
    "a name that is none": (errors.InvalidField, lambda world: world.deploy("web-1", WEB)),
    "units of nothing": (errors.NotFound, lambda world: world.add_units("api")),
    "too many units": (errors.InvalidField, lambda world: world.add_units("web", 10_000)),
    "a relation that is there": (errors.AlreadyExists, lambda world: world.relate("pg:db", "web:db")),
    "endpoints of other interfaces": (errors.EndpointMismatch, lambda world: world.relate("web:site", "pg:db")),
    "endpoints of which two pairs fit": (errors.EndpointMismatch, lambda world: world.relate("web", "pg")),
    "a relation with itself": (errors.EndpointMismatch, lambda world: world.relate("web", "web")),
    "the end of a relation of peers": (errors.IllegalTransition, lambda world: world.unrelate(1)),
    "the end of nothing": (errors.NotFound, lambda world: world.unrelate(9)),
    "a charm without an endpoint that is related": (
        errors.CharmRefused,
        lambda world: world.refresh("web", replace(WEB, digest="web-2", endpoints={})),
    ),
    "a charm with another interface there": (
        errors.CharmRefused,
        lambda world: world.refresh("web", _new_web(db=Endpoint(Role.REQUIRES, "mysql"))),
    ),
    "a charm without a storage that is there": (
        errors.CharmRefused,
        lambda world: world.refresh("web", replace(WEB, digest="web-2", storage=())),
    ),
    "a charm with a new peer endpoint": (
        errors.CharmRefused,
        lambda world: world.refresh("web", _new_web(ring=Endpoint(Role.PEERS, "ring"))),
    ),
    "a storage that no charm has": (errors.InvalidField, lambda world: world.add_storage("web/0", "logs")),
    "a storage that is taken": (errors.IllegalTransition, lambda world: world.attach("web/0", "data/0")),
    "a storage of nobody": (errors.NotFound, lambda world: world.detach("data/7")),
    "the end of an upgrade that never began": (
        errors.IllegalTransition,
        lambda world: world.request("web/0", EventKind.POST_SERIES_UPGRADE),
    ),
    "an event that cannot be asked for": (errors.InvalidField, lambda world: world.request("web/0", EventKind.START)),
    "the skip of what has not failed": (errors.IllegalTransition, lambda world: world.skip("web/0")),
    "the removal of nothing": (errors.NotFound, lambda world: world.remove_unit("web/7")),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_request_that_is_refused_changes_nothing(world: World, what: str) -> None:
    kind, request = REFUSED[what]
    before = world.key(), list(world.records())
    with pytest.raises(kind):
        request(world)
    assert (world.key(), world.records()) == before


@pytest.mark.parametrize(
    "request_",
    [
        lambda world: world.add_units("web"),
        lambda world: world.set_config("web", {"size": 1}),
        lambda world: world.refresh("web", WEB),
        lambda world: world.relate("web:db", "pg:admin"),
        lambda world: world.attach("web/0", "data/0"),
        lambda world: world.add_storage("web/0", "data"),
        lambda world: world.request("web/0", EventKind.COLLECT_METRICS),
    ],
)
def test_what_is_being_removed_gets_nothing_new(world: World, request_: Callable[[World], object]) -> None:
    world.remove_application("web")
    with pytest.raises(errors.IllegalTransition, match="it is being removed"):
        request_(world)


def test_a_configuration_that_does_not_change_is_no_new_version(world: World) -> None:
    world.set_config("web", {"size": 2})
    world.set_config("web", {"size": 2, "color": None})
    assert world.applications["web"].config_version == 2
    world.set_config("web", {"size": None})
    assert (world.applications["web"].config, world.applications["web"].config_version) == ({}, 3)


def test_a_charm_that_is_the_same_is_no_upgrade(world: World) -> None:
    entries = len(world.records())
    world.refresh("web", WEB)
    assert len(world.records()) == entries


def test_a_new_endpoint_is_told_of_after_the_upgrade(world: World) -> None:
    world.refresh("web", _new_web(cache=Endpoint(Role.REQUIRES, "postgresql")))
    world.relate("web:cache", "pg:admin")
    before = len(world.stream("web/0"))
    settle(world)
    upgrade = ["upgrade-charm", "config-changed", "start", "cache-relation-created"]
    assert told(world, "web/0")[before : before + 4] == upgrade
    assert world.check(is_at_rest=True) == []


def test_juju_gives_a_new_peer_endpoint_its_relation_after_the_upgrade() -> None:
    world = World()
    world.deploy("web", WEB, profile=Profile.JUJU)
    settle(world)
    world.refresh("web", _new_web(ring=Endpoint(Role.PEERS, "ring")))
    settle(world)
    assert told(world, "web/0")[-4:] == ["upgrade-charm", "config-changed", "start", "ring-relation-created"]


def test_a_storage_that_was_detached_may_be_attached_again(world: World) -> None:
    world.detach("data/0")
    settle(world)
    assert (world.storages["data/0"].unit, world.storages["data/0"].life) == ("", Life.ALIVE)
    world.attach("web/0", "data/0")
    settle(world)
    assert told(world, "web/0")[-2:] == ["data-storage-detaching", "data-storage-attached"]
    assert world.check(is_at_rest=True) == []


def test_a_storage_that_nobody_was_told_of_is_free_at_once(world: World) -> None:
    added = world.add_storage("web/0", "data")
    world.detach(added)
    assert world.storages[added].unit == ""


def test_a_storage_whose_attaching_is_withdrawn_is_free(world: World) -> None:
    added = world.add_storage("web/0", "data")
    world.grant("web/0")
    world.detach(added)
    assert world.storages[added].unit == "web/0"
    world.fail("web/0", "no space")
    world.grant("web/0", may_retry=False)
    assert (world.storages[added].unit, world.storages[added].life) == ("", Life.ALIVE)
    assert world.check(is_at_rest=True) == []


def test_a_new_unit_may_be_given_a_free_storage(world: World) -> None:
    world.remove_unit("web/0", keep_storage=True)
    settle(world)
    assert world.add_units("web", attach=["data/0"]) == ["web/1"]
    settle(world)
    assert told(world, "web/1")[0] == "data-storage-attached"
    assert list(world.storages) == ["data/0"]
    with pytest.raises(errors.IllegalTransition, match="it is allotted to web/1"):
        world.add_units("web", attach=["data/0"])


def test_a_storage_stays_on_its_machine(world: World) -> None:
    world.detach("data/0")
    settle(world)
    with pytest.raises(errors.IllegalTransition, match="another machine"):
        world.add_units("web", machine="rack1", attach=["data/0"])


def test_a_held_machine_gets_nothing_new(world: World) -> None:
    world.hold("web/0")
    world.set_config("web", {"size": 2})
    assert world.grant("web/0") is None
    world.hold("web/0", is_held=False)
    granted = world.grant("web/0")
    assert granted is not None
    assert granted.event.kind is EventKind.CONFIG_CHANGED


def test_series_upgrades_come_in_pairs(world: World) -> None:
    world.request("web/0", EventKind.PRE_SERIES_UPGRADE)
    with pytest.raises(errors.IllegalTransition, match="was begun; finish it first"):
        world.request("web/0", EventKind.PRE_SERIES_UPGRADE)
    world.request("web/0", EventKind.POST_SERIES_UPGRADE)
    world.request("web/0", EventKind.COLLECT_METRICS)
    settle(world)
    assert told(world, "web/0")[-3:] == ["pre-series-upgrade", "post-series-upgrade", "collect-metrics"]


def test_a_status_is_shown_at_once_and_once(world: World) -> None:
    entries = len(world.records())
    world.set_status("web/0", "active", "ready")
    world.set_status("web/0", "active", "ready")
    assert [entry.event_type for entry in world.records()[entries:]] == ["UNIT_STATUS_CHANGED"]


def test_a_copy_goes_its_own_way(world: World) -> None:
    copied = world.copy()
    copied.tick("web/0")
    copied.grant("web/0")
    copied.commit("web/0", write(2, key="text"))
    assert world.key() != copied.key()
    assert world.bag(2, "web/0") == {}
    assert copied.bag(2, "web/0") == {"key": "text"}
