"""Each kind of resource is known in every place that "Adding a resource" in CONTRIBUTING.md names.

What takes a database is in `tests/integration/test_resource.py`.
"""

import importlib
import inspect
import re
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

import tinkwell.client
from support import service as services
from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.cli import main
from tinkwell.cli.event import line
from tinkwell.client import Event, blocking, testing
from tinkwell.client import errors as client_errors
from tinkwell.client.value import shaped
from tinkwell.core import errors
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.migrations import repeatable
from tinkwell.server.database.database import Database
from tinkwell.server.database.metadata import metadata
from tinkwell.server.event.service.operations import EventService

ROOT = Path(__file__).parents[2]
MIGRATIONS = ROOT / "migrations/tinkwell/migrations"
SERVER = ROOT / "server/tinkwell/server"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")}
# A custom event is about nothing that is kept here. The actions of a workflow are in its room, and so is what a release
# is made of, and what changes it.
KINDS: list[ResourceType] = [kind for kind in ResourceType if kind is not ResourceType.CUSTOM]
PARTS_OF_RELEASE = (
    ResourceType.CHART,
    ResourceType.OPERATION,
    ResourceType.NODE,
    ResourceType.STEP,
    ResourceType.LIFECYCLE,
)
# All that belongs to applications is in the room of units.
PARTS_OF_UNIT = (
    ResourceType.NAMESPACE,
    ResourceType.CHARM,
    ResourceType.APPLICATION,
    ResourceType.UNIT_EVENT,
    ResourceType.RELATION,
    ResourceType.STORAGE,
    ResourceType.SECRET,
    ResourceType.TASK,
)
# The tables of secrets and tasks are in a module of their own.
OF_SECRET_TABLE = (ResourceType.SECRET, ResourceType.TASK)
ROOM_OF = (
    {kind: kind.lower() for kind in KINDS}
    | {ResourceType.ACTION: "workflow"}
    | dict.fromkeys(PARTS_OF_RELEASE, "release")
    | dict.fromkeys(PARTS_OF_UNIT, "unit")
)
ROOMS = sorted(set(ROOM_OF.values()))
# What answers agents of units stands beside what answers operators, and all of it is put together as several services.
PLACES = {"unit": ("delivery", "agent_servicer", "UnitRooms")}
SERVER_ROOMS = sorted(path.parent.name for path in SERVER.glob("*/service"))


def title(room: str) -> str:
    """Write a room as the names of its classes begin."""
    return "".join(word.title() for word in room.split("_"))


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def names(enum: Any) -> set[str]:
    prefix = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", enum.DESCRIPTOR.name).upper()
    return {name.removeprefix(f"{prefix}_") for name in enum.keys()} - {"UNSPECIFIED"}  # noqa: SIM118  # no mapping


def missing(text: str) -> set[str]:
    """Return the rooms that a text does not name."""
    return set(ROOMS) - set(re.findall(r"\w+", text))


def contracts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    return found


def test_protobuf_has_the_kinds_that_the_core_has() -> None:
    assert names(pb.ResourceType) == set(ResourceType)
    assert names(pb.EventType) == set(EventType)


@pytest.mark.parametrize("room", ROOMS)
def test_a_resource_has_its_service_in_a_file_of_its_own(room: str) -> None:
    module = importlib.import_module(f"tinkwell.api.v1.{room}_service_pb2")
    assert list(module.DESCRIPTOR.services_by_name) == [f"{title(room)}Service"]


@pytest.mark.parametrize("room", ROOMS)
def test_a_resource_has_a_room_in_each_process(room: str) -> None:
    service, servicer, name = PLACES.get(room, ("operations", "servicer", f"{title(room)}Room"))
    for module in (
        f"core.{room}",
        f"client.{room}.client",
        f"cli.{room}.commands",
        f"server.{room}.service.{service}",
    ):
        importlib.import_module(f"tinkwell.{module}")
    found = importlib.import_module(f"tinkwell.server.{room}.api.{servicer}")
    assert hasattr(found, f"{title(room)}Servicer")
    assert hasattr(importlib.import_module(f"tinkwell.server.{room}.room"), name)


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("place", ["unit/core", "unit/client", "unit/cli", "integration"])
def test_a_resource_has_tests_that_mirror_its_rooms(room: str, place: str) -> None:
    assert list((ROOT / "tests" / place / room).rglob("test_*.py"))


def test_the_rooms_of_the_server_are_those_of_resources_and_of_what_they_share() -> None:
    assert set(SERVER_ROOMS) == {*ROOMS, "event", "lease", "secret"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_resource_has_a_table_that_its_room_defines(kind: ResourceType) -> None:
    store = f"tinkwell.server.{ROOM_OF[kind]}.store"
    table = importlib.import_module(f"{store}.{'secret_table' if kind in OF_SECRET_TABLE else 'table'}")
    assert getattr(table, kind.lower()) is metadata.tables[kind.lower()]


@pytest.mark.parametrize("room", SERVER_ROOMS)
def test_the_sql_of_a_room_is_protected(room: str) -> None:
    package = f"tinkwell.server.{room}"
    protected = {
        module: set(contract["allowed_importers"])
        for contract in contracts()
        for module in contract.get("protected_modules", ())
    }
    # Secrets have no calls, and so no module that brings them to the port.
    has_room = (SERVER / room / "room.py").exists() and room not in PLACES
    assert protected.get(f"{package}.store") == {f"{package}.service", *([f"{package}.room"] if has_room else [])}


@pytest.mark.parametrize("package", ["core", "client", "cli", "server"])
def test_each_process_has_every_resource_in_the_order_of_its_layers(package: str) -> None:
    (layers,) = (
        contract["layers"]
        for contract in contracts()
        if contract["type"] == "layers" and contract.get("containers") == [f"tinkwell.{package}"]
    )
    assert not missing(" ".join(layers))


def test_migrations_run_the_files_of_every_room() -> None:
    folders = {path.name for path in (MIGRATIONS / "sql").iterdir() if path.is_dir()}
    assert set(repeatable.ROOMS) == folders
    assert not set(ROOMS) - folders
    assert len(repeatable.ROOMS) == len(folders)


@pytest.mark.parametrize("room", ROOMS)
def test_the_schema_of_a_resource_is_in_files_of_its_own(room: str) -> None:
    files = {path.stem for path in (MIGRATIONS / "sql" / room).glob("*.sql")}
    assert files >= {"table", "trigger", "shape", "function", "grant"}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_resource_has_a_class_that_its_events_hold_in_the_real_and_in_the_fake_server(
    kind: ResourceType,
) -> None:
    found: Any = shaped.class_of(kind)
    assert found is not None
    assert found.__name__ in tinkwell.client.__all__
    server = testing.FakeServer()
    stored = server.put(found(id="r1"))
    (event,) = server.log.events
    assert (event.resource_type, event.name) == (kind, f"{kind.lower()}.created")
    assert event.resource == stored


def public(client: object) -> dict[str, object]:
    """Return the clients of services that a client has."""
    return {name: found for name, found in vars(client).items() if not name.startswith("_")}


async def test_the_blocking_client_has_the_clients_of_the_asynchronous_one() -> None:
    async with tinkwell.client.connect("localhost:1") as client:
        clients = public(client)
    with blocking.connect("localhost:1") as twin:
        twins = public(twin)
    assert {name: type(found).__name__ for name, found in twins.items()} == {
        name: type(found).__name__ for name, found in clients.items()
    }
    classes = {type(found) for found in clients.values()}
    for room in ROOMS:
        assert getattr(tinkwell.client, f"{title(room)}Client") in classes
        assert f"{title(room)}Client" in tinkwell.client.__all__


async def test_the_fake_server_answers_every_method() -> None:
    async with testing.FakeServer() as server:
        assert await services.missing(server.address) == []


@pytest.mark.parametrize("prefix", [*map(str.lower, KINDS), "secret", "task", "tinkwell"])
async def test_nobody_publishes_events_under_the_name_of_a_resource(prefix: str) -> None:
    name = f"{prefix}.created"
    real = EventService(cast("Database", None))
    with pytest.raises(errors.InvalidField, match="names below"):
        await real.publish(name=name, resource_id="", data="", actor="")
    async with testing.FakeServer() as server, tinkwell.client.connect(server.address) as client:
        with pytest.raises(client_errors.InvalidField, match="built-in prefix"):
            await client.events.publish(name)


def group(room: str) -> str:
    """Return the name of the commands that the room has."""
    target = f"tinkwell.cli.{room}.commands:"
    (found,) = (item.name for item in main.RESOURCES if item.target.startswith(target))
    return found


@pytest.mark.parametrize("room", [*ROOMS, "event"])
def test_the_help_lists_the_commands_of_a_resource_among_resources(room: str) -> None:
    printed = CliRunner().invoke(main.main, ["--help"]).stdout
    resources = printed[printed.index(" Resources ") : printed.index(" Processes ")]
    assert f" {group(room)} " in resources


@pytest.mark.parametrize("kind", KINDS)
def test_the_line_of_an_event_tells_the_name_of_its_resource(kind: ResourceType) -> None:
    found: Any = shaped.class_of(kind)
    event = Event("e1", 1, kind, EventType.CREATED, f"{kind.lower()}.created", "r1", data=found("r1").to_json())
    if "name" not in inspect.signature(found).parameters:
        assert line.format_event(event)
        return
    event.data["name"] = "front"
    assert "front" in line.summary(event)


@pytest.mark.parametrize("folder", ["core", "client", "client/tinkwell/cli", "server", "migrations"])
def test_the_map_of_the_folders_has_every_resource(folder: str) -> None:
    path = folder if "/" in folder else f"{folder}/tinkwell/{folder}"
    (row,) = (text for text in read("ARCHITECTURE.md").splitlines() if text.startswith(f"| `{path}` |"))
    assert not missing(row)


@pytest.mark.parametrize("room", ROOMS)
def test_the_documentation_and_the_changelog_mention_a_resource(room: str) -> None:
    assert f"tinkwell {group(room)} " in "".join([read("README.md"), *PAGES.values()])
    assert f"`{title(room)}Service`" in read("CHANGELOG.md")
