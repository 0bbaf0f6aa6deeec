"""`tinkwell release events` and `explain`."""

from unit.cli.release.conftest import Site

from support.release_provisioner import Provisioner
from tinkwell.client import Client
from tinkwell.core.release.lifecycle_event.run import HandlerRun, Outcome
from tinkwell.core.release.report import LifecycleReport

HANDLER = HandlerRun(
    chart="shop.db", file="ext/lua/init.lua", line=12, weight=0.5, seconds=0.25, outcome=Outcome.SUCCEEDED
)
RENDERED = LifecycleReport(event="render", chart="shop", seconds=0.5)
INSTALLED = LifecycleReport(event="pre-install", chart="shop", handlers=(HANDLER,), seconds=0.25)


async def emit(client: Client, owner: Provisioner) -> None:
    release = await client.releases.get("shop")
    await owner.begin(release.operation_id)
    warned = LifecycleReport(
        event="ready", chart="shop", handlers=(HANDLER, HANDLER), outcome=Outcome.WARNED, message="no\nspace"
    )
    await owner.report(release.operation_id, RENDERED, INSTALLED, warned)


def test_events_are_listed_with_their_handlers(pending: Site) -> None:
    pending.work(emit)
    header, render, install, ready, more, *handlers = pending.cli.ok("release", "events", "shop").splitlines()
    assert header.split() == ["EVENT", "CHART", "HANDLER", "SECONDS", "OUTCOME", "MESSAGE"]
    assert render.split() == ["render", "shop", "-", "0.500", "SUCCEEDED", "-"]
    assert install.split() == ["pre-install", "shop", "ext/lua/init.lua:12", "0.250", "SUCCEEDED", "-"]
    assert ready.split() == ["ready", "shop", "2", "handlers", "0.000", "WARNED", "no"]
    assert more.split() == [*("-",) * 5, "space"]
    assert [line.split() for line in handlers] == [
        ["-", "shop.db", "ext/lua/init.lua:12", "0.250", "SUCCEEDED", "-"],
    ] * 2


def test_events_as_json_have_all_that_is_known(pending: Site) -> None:
    pending.work(emit)
    found = pending.cli.json("release", "events", "shop")
    assert [(each["ordinal"], each["event"]) for each in found] == [(1, "render"), (2, "pre-install"), (3, "ready")]
    assert found[1]["handlers"][0]["line"] == 12
    assert pending.cli.json("release", "events", "shop", "--operation", found[0]["operation_id"]) == found


def test_an_explanation_is_a_sentence_for_each_node(pending: Site) -> None:
    said = pending.cli.ok("release", "explain", "shop")
    assert said.startswith("install of shop is PENDING")
    pending.work(emit)
    operation, role, db = pending.cli.ok("release", "explain", "shop").splitlines()
    assert operation.endswith("carries it out")
    assert role.startswith("role (batch 1) waits for no other, and starts next")
    assert db.startswith("db (batch 2) waits: role is PENDING")
    found = pending.cli.json("release", "explain", "shop", "db")
    assert [(node["path"], node["waits_for"]) for node in found["nodes"]] == [("db", ["role"])]


def test_what_cannot_be_explained_is_refused(pending: Site) -> None:
    assert "has no chart" in pending.cli.fails("release", "explain", "shop", "values")
    assert "KEY goes with values" in pending.cli.fails("release", "explain", "shop", "db", "x", code=2)
