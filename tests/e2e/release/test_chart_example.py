"""The charts of the examples, installed by a real provisioner with the images of the examples."""

import json
from pathlib import Path

import pytest

from support import release_stack
from support.release_stack import EXAMPLES, Outcome, Stack
from tinkwell.client import Client, State
from tinkwell.core.event.kinds import EventType

CHARTS = EXAMPLES / "charts"
MACHINES = EXAMPLES / "demo"
SECONDS = 120


async def order(stack: Stack, outcome: Outcome, kind: EventType) -> list[str]:
    """The paths of an operation's resources in the order in which events of a kind told of them."""
    found: list[str] = []
    wanted = {path for path in outcome.nodes if ":" in path}
    release_id = outcome.operation.release_id
    async for event in stack.client.releases.watch(from_revision=1, resource_id=release_id, event_types=[kind]):
        if event.data["operation_id"] == outcome.operation.id and event.data["path"] in wanted:
            found.append(event.data["path"])
        if len(found) == len(wanted):
            break
    return found


def text(stack: Stack, chart: str, name: str) -> str:
    """What is in a file that a release has made."""
    (path,) = (stack.state_dir / "releases").glob(f"*/{chart}/{name}")
    return path.read_text()


@pytest.mark.parametrize("wait", ["ordered", "eager"])
async def test_the_four_subcharts_of_foo_come_in_their_order_and_go_in_its_reverse(stack: Stack, wait: str) -> None:
    installed = await stack.install("foo", CHARTS / "foo", wait=wait)
    assert installed.operation.state is State.SUCCEEDED
    assert {path for path, word in installed.became.items() if ":" in path and word == "changed"} == {
        "foo.nginx:site",
        "foo.rabbitmq:queue",
        "foo.bar:db",
        "foo.orphaned:lamp",
        "foo:web",
    }
    ready = await order(stack, installed, EventType.NODE_READY)
    assert set(ready[:2]) <= {"foo.nginx:site", "foo.rabbitmq:queue", "foo.orphaned:lamp"}
    assert max(map(ready.index, ("foo.nginx:site", "foo.rabbitmq:queue"))) < ready.index("foo.bar:db")
    assert ready.index("foo.bar:db") < ready.index("foo:web")
    if wait == "ordered":
        assert ready.index("foo.bar:db") < ready.index("foo.orphaned:lamp")

    gone = await stack.uninstall("foo")
    assert gone.operation.state is State.SUCCEEDED
    removed = await order(stack, gone, EventType.NODE_REMOVED)
    assert len(removed) == 5
    assert removed.index("foo:web") < removed.index("foo.bar:db")
    assert removed.index("foo.bar:db") < min(map(removed.index, ("foo.nginx:site", "foo.rabbitmq:queue")))
    assert not list((stack.state_dir / "releases").glob("*/*/*.txt"))


async def test_shop_hands_on_what_its_store_and_its_page_give_out(stack: Stack) -> None:
    installed = await stack.install("shop", CHARTS / "shop", {"store": {"port": 7000}})
    assert installed.operation.state is State.SUCCEEDED
    assert text(stack, "store", "store.conf") == "listen 127.0.0.1:7000\n"
    assert text(stack, "web", "page.conf") == "host shop.example.org\nstore 127.0.0.1:7000\n"
    assert text(stack, "shop", "sign.txt") == "Ada's shop: http://shop.example.org/\n"

    upgraded = await stack.upgrade("shop", CHARTS / "shop", {"web": {"host": "localhost"}})
    assert upgraded.operation.state is State.SUCCEEDED
    resources = {path: word for path, word in upgraded.became.items() if ":" in path}
    assert resources == {"shop.store:db": "unchanged", "shop.web:page": "changed", "shop:sign": "changed"}
    # What was given before still counts.
    assert text(stack, "web", "page.conf") == "host localhost\nstore 127.0.0.1:7000\n"
    values = (await stack.client.releases.revision("shop", with_all_values=True)).all_values
    assert values is not None
    assert (values["store"]["port"], values["owner"]) == (7000, "Ada")


async def test_scripted_computes_what_it_was_not_given_and_drops_what_it_does_not_need(stack: Stack) -> None:
    installed = await stack.install("scripted", CHARTS / "scripted", {"size": "medium"})
    assert installed.operation.state is State.SUCCEEDED
    assert text(stack, "scripted", "server.conf") == "workers 4\nport 8080\n"
    assert "scripted:monitor" not in installed.became
    values = (await stack.client.releases.revision("scripted", with_all_values=True)).all_values
    assert values is not None
    assert values["workers"] == 4

    refused = await stack.upgrade("scripted", CHARTS / "scripted", {"size": "huge"})
    assert refused.operation.state is State.FAILED
    assert refused.operation.cause is not None
    assert "size huge is none; write small, medium or large" in refused.operation.cause["message"]

    upgraded = await stack.upgrade("scripted", CHARTS / "scripted", {"size": "large", "workers": 5})
    assert upgraded.operation.state is State.SUCCEEDED
    assert text(stack, "scripted", "server.conf") == "workers 5\nport 8080\n"
    assert text(stack, "scripted", "monitor.conf") == "watch 8080\n"


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_fleet_provisions_machines_and_then_installs_on_each(
    client: Client, server_address: str, tmp_path: Path
) -> None:
    for path in sorted((MACHINES / "hardware").glob("*.json")):
        await client.hardware.push(json.loads(path.read_text()))
    await client.templates.create((MACHINES / "template.yaml").read_text())
    options = ("--agent-for", "all")
    async with release_stack.running(client, server_address, tmp_path, options=options) as stack:
        values = {"machines": {"server": server_address}}
        installed = await stack.install("fleet", CHARTS / "fleet", values, timeout_seconds=SECONDS)
        assert installed.operation.state is State.SUCCEEDED, installed.became
        (workflow,) = [found async for found in client.workflows.list()]
        assert workflow.state is State.SUCCEEDED
        for device, address in (("device_1", "52:54:00:10:00:03"), ("device_2", "52:54:00:10:00:04")):
            wanted = f"shop-agent on {address}, installed by {workflow.id}\n"
            assert text(stack, "fleet", f"{device}.txt") == wanted
