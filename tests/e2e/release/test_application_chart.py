"""The chart `site` of the examples through its whole life: machines, applications and a relation, in one watch."""

import contextlib
import json
import re
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from support import process, release_stack
from support.release_stack import EXAMPLES, Outcome, Stack
from tinkwell.cli.unit import auditing
from tinkwell.client import Application, Client, Event, Node, Operation, Relation, State, Unit, UnitEvent, Workflow
from tinkwell.client.unit.model import UnitStatus
from tinkwell.core.event.kinds import EventType
from tinkwell.core.release.kinds import ReleaseState
from tinkwell.core.release.preview.model import Preview

SITE = EXAMPLES / "charts" / "site"
PAGE = SITE / "charts" / "page" / "files" / "page.py"
MACHINES = EXAMPLES / "demo"
FIRST, SECOND = "6e1c8d52-40f1-4e0b-9d5f-2b7d3c9a0f03", "b1a7f4c0-93d2-4a86-8f0e-7c5e1d2b6a04"
SECONDS = 600
# Of each unit: its machine, and the message of its status.
FIRST_STATUSES = {"page/0": (FIRST, "1 on the page"), "text/0": (SECOND, "Hello, world!")}
UPGRADED_STATUSES = {
    "page/0": (FIRST, "2 on the page"),
    "text/0": (SECOND, "Good morning!"),
    "text/1": (FIRST, "Good morning!"),
}
COPIES = {
    "text/charm.yaml": "text/files/text/charm.yaml",
    "text/hooks/config-changed": "text/files/text/hooks/config-changed",
    "text/hooks/text-relation-created": "text/files/text/hooks/text-relation-created",
    "page/page.py": "page/files/page.py",
}


@pytest.mark.parametrize("charm", COPIES)
def test_the_charms_of_the_chart_are_those_of_the_examples(charm: str) -> None:
    assert (SITE / "charts" / COPIES[charm]).read_text() == (EXAMPLES / "charms" / charm).read_text()


@contextlib.asynccontextmanager
async def serving_page(client: Client, folder: Path) -> AsyncIterator[None]:
    """Serve the units of the application page that are on the first machine, by its own program."""
    run = ("unit", "run", str(PAGE), "--application", "page", "--machine", FIRST, "--state-dir", str(folder / "page"))
    environment = {"TINKWELL_SERVER": client.address}
    async with process.running(*run, log=folder / "page.log", environment=environment):
        yield


@pytest.fixture
async def stack(client: Client, server_address: str, tmp_path: Path) -> AsyncIterator[Stack]:
    """Two machines, a template, a provisioner for workflows, releases and units, and an agent of the page."""
    for path in sorted((MACHINES / "hardware").glob("*.json")):
        await client.hardware.push(json.loads(path.read_text()))
    await client.templates.create((MACHINES / "template.yaml").read_text())
    options = ("--agent-for", "all", "--units")
    async with (
        serving_page(client, tmp_path),
        release_stack.running(client, server_address, tmp_path, options=options) as running,
    ):
        yield running


def edited(folder: Path, edit: Callable[[str], str]) -> Path:
    """A copy of the chart, in which the script of the charm text that hears of another configuration is another one."""
    shutil.copytree(SITE, folder)
    script = folder / "charts" / "text" / "files" / "text" / "hooks" / "config-changed"
    script.write_text(edit(script.read_text()))
    return folder


def changed(outcome: Outcome) -> dict[str, str]:
    return {path: word for path, word in outcome.became.items() if ":" in path}


async def everything(stack: Stack, outcome: Outcome) -> dict[str, tuple[str, list[str]]]:
    """What became of each resource, and what its calls printed; for who reads of a failure."""
    return {path: (word, await stack.printed(outcome.operation, path)) for path, word in changed(outcome).items()}


async def statuses(client: Client) -> dict[str, tuple[str, str]]:
    return {each.name: (each.machine, each.status.message) async for each in client.applications.units()}


async def end(stack: Stack, handle: Any) -> Outcome:
    return await stack.outcome(await handle.result())


def told(event: Event) -> str:
    """What an event tells, as far as it matters here; empty for others."""
    match event.resource:
        case Operation() as operation if event.event_type == EventType.CREATED:
            return f"{operation.kind} begins"
        case Operation() as operation if event.event_type == EventType.OPERATION_SUCCEEDED:
            return f"{operation.kind} ends"
        case Workflow() as workflow if workflow.state is State.SUCCEEDED:
            return "machines are installed"
        case Node() as node if node.path.count(":") and event.event_type in (
            EventType.NODE_READY,
            EventType.NODE_REMOVED,
        ):
            return f"{node.path} {node.state.lower()}"
        case Application() | Relation() as found if event.event_type in (EventType.CREATED, EventType.DELETED):
            name = found.name if isinstance(found, Application) else "relation"
            return f"{name} {event.event_type.lower()}"
        case Unit() as unit if event.event_type == EventType.DELETED:
            return f"{unit.name} deleted"
        case UnitEvent() as unit_event if event.event_type == EventType.UNIT_EVENT_COMMITTED:
            return f"{unit_event.unit} {unit_event.name}"
        case _:
            return ""


async def tale(client: Client) -> tuple[list[int], dict[str, list[str]]]:
    """What one watch of everything tells until the release is gone: its revisions, and what it told by operation."""
    revisions: list[int] = []
    parts: dict[str, list[str]] = {}
    part: list[str] = []
    async for event in client.events.watch(from_revision=1):
        revisions.append(event.revision)
        line = told(event)
        if line.endswith(" begins"):
            part = parts.setdefault(line.removesuffix(" begins"), [])
        elif line:
            part.append(line)
        if event.event_type == EventType.RELEASE_UNINSTALLED:
            break
    return revisions, parts


def are_in_order(part: list[str], *lines: str) -> None:
    """Check that all of these are told, one after the other."""
    places = [part.index(line) for line in lines]
    assert places == sorted(places), part


async def install(stack: Stack) -> None:
    values: dict[str, Any] = {"global": {"server": stack.client.address}}
    installed = await stack.install("site", SITE, values, timeout_seconds=SECONDS)
    assert installed.operation.state is State.SUCCEEDED, await everything(stack, installed)
    assert await statuses(stack.client) == FIRST_STATUSES
    assert (await stack.client.releases.get("site")).state is ReleaseState.DEPLOYED


async def drift(stack: Stack) -> None:
    """Change the text by hand and add a unit, which a look for drift finds."""
    client, applications = stack.client, stack.client.applications
    await applications.set_config("text", {"text": "by hand"})
    await applications.add_units("text", 1, machines=[FIRST])
    await applications.settled("page", "text", timeout_seconds=SECONDS)
    looked = await (await client.releases.drift("site", timeout_seconds=SECONDS)).result()
    nodes = {node.path: node for node in Preview.from_json(looked.result).nodes}
    assert [each.name for each in nodes["site.text:units"].actions] == ["configure", "remove-units", "wait"]
    assert nodes["site.page:units"].actions == ()
    assert (await client.releases.get("site")).drifted


async def upgrade(stack: Stack, tmp_path: Path) -> None:
    """Upgrade to another charm, another configuration and another unit at once, which also takes back the drift."""
    louder = edited(
        tmp_path / "louder", lambda text: text.replace('status-set active "$text"', 'status-set active "$text!"')
    )
    given = {"text": {"text": "Good morning", "units": 2}, "page": {"title": "News"}}
    upgraded = await stack.upgrade("site", louder, given, timeout_seconds=SECONDS)
    assert changed(upgraded) == {
        "site.machines:nodes": "unchanged",
        "site.text:units": "changed",
        "site.page:units": "changed",
        "site:relation": "unchanged",
    }
    assert upgraded.actions("site.text:units") == ["upgrade", "configure", "wait"]
    assert await statuses(stack.client) == UPGRADED_STATUSES
    (page,) = (tmp_path / "page").rglob("index.html")
    assert page.read_text() == "<h1>News</h1>\n<p>Good morning</p>\n<p>Good morning</p>\n"


async def fail(stack: Stack, tmp_path: Path) -> None:
    """Upgrade to a charm whose units fail: the upgrade fails by what they print, and the former state comes back."""
    broken = edited(tmp_path / "broken", lambda _: "#!/bin/sh\nexit 3\n")
    failed = await stack.upgrade("site", broken, timeout_seconds=SECONDS, atomic=True)
    assert failed.operation.state is State.FAILED
    printed = "\n".join(await stack.printed(failed.operation, "site.text:units"))
    # The server may have retried the event before the release waited for it.
    assert re.search(r"config-changed failed (once|\d+ times): exit 3", printed)
    assert (await stack.client.releases.get("site")).state is ReleaseState.DEPLOYED
    assert await statuses(stack.client) == UPGRADED_STATUSES


async def roll_back(stack: Stack) -> None:
    back = await end(stack, await stack.client.releases.rollback("site", 1, timeout_seconds=SECONDS))
    assert changed(back)["site.text:units"] == "changed"
    assert await statuses(stack.client) == FIRST_STATUSES
    assert (await stack.client.applications.unit("page/0")).status == UnitStatus("active", "1 on the page")


async def uninstall(stack: Stack) -> None:
    client = stack.client
    gone = await end(stack, await client.releases.uninstall("site", timeout_seconds=SECONDS))
    assert changed(gone) == {
        "site:relation": "removed",
        "site.text:units": "removed",
        "site.page:units": "removed",
        "site.machines:nodes": "left",
    }
    assert [each async for each in client.applications.list()] == []
    assert (await auditing.audit(client, "default", [])).violations == ()


def come_and_go_in_order(parts: dict[str, list[str]], name: str, endpoint: str) -> None:
    """Check that an application comes after the machines and before the relation, and goes in the reverse order."""
    first = f"{name}/0"
    are_in_order(
        parts["INSTALL"],
        "machines are installed",
        "site.machines:nodes ready",
        f"{name} created",
        f"{first} install",
        f"{first} start",
        f"site.{name}:units ready",
        "relation created",
        f"{first} {endpoint}-relation-joined",
        "site:relation ready",
        "INSTALL ends",
    )
    are_in_order(
        parts["UNINSTALL"],
        f"{first} {endpoint}-relation-broken",
        "relation deleted",
        "site:relation removed",
        f"{first} stop",
        f"{first} remove",
        f"{first} deleted",
        f"{name} deleted",
        f"site.{name}:units removed",
        "UNINSTALL ends",
    )


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_a_site_is_installed_mended_upgraded_rolled_back_and_uninstalled_in_reverse(
    stack: Stack, tmp_path: Path
) -> None:
    await install(stack)
    await drift(stack)
    await upgrade(stack, tmp_path)
    await fail(stack, tmp_path)
    await roll_back(stack)
    await uninstall(stack)
    revisions, parts = await tale(stack.client)
    assert revisions == sorted(set(revisions))
    come_and_go_in_order(parts, "text", "text")
    come_and_go_in_order(parts, "page", "texts")
    chain = ("text/0 upgrade-charm", "text/0 config-changed", "text/0 start")
    are_in_order(parts["UPGRADE"], *chain, "site.text:units ready", "site:relation ready")
