"""Functions in Python that hear the listing of releases narrow it, and drop and annotate what is listed."""

import logging
import threading
from collections.abc import AsyncIterator, Callable

import pytest

from support.release_site import Site
from tinkwell.core import errors
from tinkwell.core.release.kinds import ReleaseState
from tinkwell.core.release.lifecycle_event.name import CoreEvent
from tinkwell.core.release.lifecycle_event.registry import Registry, WrongRegistry
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.release.service import listener
from tinkwell.server.release.service.listener import Function, ListRequest
from tinkwell.server.release.service.listing import Listing


@pytest.fixture
async def database(site: Site, server_url: str) -> AsyncIterator[Database]:
    for namespace, name in (("default", "bank"), ("default", "shop"), ("other", "mill")):
        await site.apply(release=name, namespace=namespace)
    pool = engine.create(server_url, pool_size=2)
    yield Database(pool)
    await pool.dispose()


def heard(**functions: Callable[[ListRequest], object]) -> Registry[Function]:
    registry: Registry[Function] = Registry([CoreEvent.LIST])
    for name, function in functions.items():
        registry.on(name.rstrip("_").replace("_", "-"), 0.5, function, origin="teams")
    return registry


async def listed(
    database: Database, registry: Registry[Function], namespace: str = "", states: tuple[ReleaseState, ...] = ()
) -> dict[str, dict[str, str]]:
    found = Listing(database, registry).stream(namespace, states)
    return {each.release.name: dict(each.annotations) async for each in found}


def refuse(request: ListRequest) -> None:
    raise ValueError("not today")


async def test_without_functions_all_is_listed_as_it_is(database: Database) -> None:
    assert await listed(database, heard()) == {"bank": {}, "shop": {}, "mill": {}}
    assert await listed(database, heard(pre_render=refuse)) == {"bank": {}, "shop": {}, "mill": {}}


async def test_a_function_may_narrow_what_is_asked_for(database: Database) -> None:
    def narrow(request: ListRequest) -> None:
        request.namespace = request.namespace or "other"

    def none(request: ListRequest) -> None:
        request.states = [ReleaseState.DEPLOYED]

    assert await listed(database, heard(pre_list=narrow)) == {"mill": {}}
    assert await listed(database, heard(pre_list=narrow), "default") == {"bank": {}, "shop": {}}
    assert await listed(database, heard(pre_list=none)) == {}


async def test_a_function_may_not_widen_it_and_one_that_fails_refuses_it(database: Database) -> None:
    def elsewhere(request: ListRequest) -> None:
        request.namespace = "other"

    def wider(request: ListRequest) -> None:
        request.states = []

    failed = (ReleaseState.FAILED,)
    with pytest.raises(errors.InvalidField, match=r"namespace: the handler teams .* may only narrow"):
        await listed(database, heard(pre_list=elsewhere), "default")
    with pytest.raises(errors.InvalidField, match=r"states: the handler teams .* may only narrow"):
        await listed(database, heard(pre_list=wider), states=failed)
    with pytest.raises(errors.InvalidField, match=r"the handler teams .* of pre-list failed: ValueError: not today"):
        await listed(database, heard(pre_list=refuse))


async def test_a_function_may_drop_and_annotate_rows(database: Database) -> None:
    seen: list[dict[str, object]] = []

    def annotate(request: ListRequest) -> None:
        seen.extend({**row} for row in request.releases)
        request.releases = [row for row in request.releases if row["name"] != "bank"]
        for row in request.releases:
            annotations = row["annotations"]
            assert isinstance(annotations, dict)
            annotations["team"] = f"team of {row['namespace']}"
            row["name"] = "of no effect"

    assert await listed(database, heard(post_list=annotate)) == {
        "shop": {"team": "team of default"},
        "mill": {"team": "team of other"},
    }
    assert [(row["name"], row["state"], row["revision"]) for row in seen] == [
        ("bank", "PENDING_INSTALL", 0),
        ("shop", "PENDING_INSTALL", 0),
        ("mill", "PENDING_INSTALL", 0),
    ]


async def test_one_that_fails_after_the_list_is_a_warning_and_changes_nothing(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    def spoil(request: ListRequest) -> None:
        request.releases.clear()
        refuse(request)

    def wrong(request: ListRequest) -> None:
        request.releases[0]["annotations"] = {"team": 7}

    def first(request: ListRequest) -> None:
        for row in request.releases:
            row["annotations"] = {"team": "x"}

    registry = heard(post_list=first, post_list_=spoil, post_list__=wrong)
    with caplog.at_level(logging.WARNING):
        found = await listed(database, registry)
    assert found == {key: {"team": "x"} for key in ("bank", "shop", "mill")}
    assert "of post-list failed: ValueError: not today" in caplog.text
    assert 'annotations["team"]' in caplog.text or "annotations.team" in caplog.text


async def test_one_that_takes_too_long_is_not_waited_for() -> None:
    go_on = threading.Event()
    (found,) = heard(post_list=lambda request: go_on.wait(60)).listeners
    request = ListRequest(event="post-list", namespace="", states=[])
    with pytest.raises(listener.HandlerFailed, match=r"takes longer than 0\.05 s"):
        await listener.call(found, request, seconds=0.05)
    go_on.set()


def test_a_second_implementation_stops_the_server_at_its_start() -> None:
    registry = heard()
    Listing(None, registry)  # type: ignore[arg-type]  # nothing is listed
    with pytest.raises(WrongRegistry, match="list has two implementations, Listing and Listing"):
        Listing(None, registry)  # type: ignore[arg-type]
