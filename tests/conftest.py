"""Fixtures for everybody: a cluster, a fresh database, a server over it, and a client of that server."""

import asyncio
import gc
import inspect
import logging
import os
import signal
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

import tinkwell.client
from support import database, role, waiting

if TYPE_CHECKING:
    from support.server import Server

_LEFTOVER_SECONDS = 2


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Leave logging as it was: commands that are run in this process set it up for themselves."""
    root, ours = logging.getLogger(), logging.getLogger("tinkwell")
    handlers, levels = root.handlers[:], (root.level, ours.level)
    yield
    root.handlers[:] = [handler for handler in root.handlers if handler in handlers]
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def postgres() -> AsyncIterator[database.Databases]:
    """The cluster of this run."""
    async with database.databases() as databases:
        yield databases


@pytest.fixture
async def database_url(postgres: database.Databases) -> AsyncIterator[str]:
    """A migrated database of the test's own."""
    async with postgres.fresh() as url:
        yield url


@pytest.fixture
def server_url(database_url: str) -> str:
    """The same database, as servers connect to it."""
    return role.url_of_server(database_url)


@pytest.fixture
async def empty_database_url(postgres: database.Databases) -> AsyncIterator[str]:
    """A database of the test's own with nothing in it."""
    async with postgres.fresh(migrated=False) as url:
        yield url


@pytest.fixture
async def server(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator["Server"]:
    """A server in this process over the test's own database, with a key for secrets."""
    # The whole server takes a while to import, which tests of anything smaller need not wait for.
    from support import server as support
    from tinkwell.server.secret import keys

    file = tmp_path_factory.mktemp("keys") / "secret.keys"
    keys.create(file)
    async with support.running(database_url, secret_keys=file) as running:
        yield running


@pytest.fixture
def server_address(server: "Server") -> str:
    """The server's gRPC address."""
    return server.address


@pytest.fixture
async def client(server_address: str) -> AsyncIterator[tinkwell.client.Client]:
    """A client of the server."""
    async with tinkwell.client.connect(server_address) as connected:
        yield connected


@pytest.fixture(autouse=True)
def no_task_is_left(request: pytest.FixtureRequest) -> None:
    """Hold every asynchronous test, and its fixtures, to ending the tasks that they began."""
    if inspect.iscoroutinefunction(getattr(request, "function", None)):
        request.getfixturevalue("_no_task_is_left")


@pytest.fixture
async def _no_task_is_left() -> AsyncIterator[None]:
    yield

    def is_quiet() -> bool:
        return not asyncio.all_tasks() - {asyncio.current_task()}

    try:
        await waiting.eventually(is_quiet, deadline_seconds=_LEFTOVER_SECONDS)
    except TimeoutError:
        left = sorted(repr(task) for task in asyncio.all_tasks() - {asyncio.current_task()})
        pytest.fail("tasks were left running:\n" + "\n".join(left), pytrace=False)


def pytest_configure() -> None:
    """Let programs that tests interrupt hear of it: who starts the tests in the background has that ignored, and what
    is ignored, children ignore as well.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Run three processes on two processors: tests of real processes wait for about as long as they compute."""
    return max(1, len(os.sched_getaffinity(0)) * 3 // 2)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked `thorough`, unless `-m` speaks of it, and begin with files that take long: one that
    begins last is waited for while all other processors rest.
    """
    if "thorough" not in config.option.markexpr:
        left = [item for item in items if item.get_closest_marker("thorough") is not None]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item.get_closest_marker("thorough") is None]
    long = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish() -> None:
    """Keep the collected tests, more than ten thousand, and all modules out of what is looked through for garbage."""
    gc.freeze()


# What tests may need that is not everywhere.
_NEEDS = ("docker", "nats", "ssh")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Have a test's report carry what it needs. A report's keywords also have the names of folders, such as docker."""
    item.user_properties += [("needs", mark) for mark in _NEEDS if item.get_closest_marker(mark) is not None]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what a row of dots hides: how much was explored, and how many tests used real containers, a real broker and
    real logins, since where these are missing the tests are skipped and all looks well.
    """

    def count(mark: str, *outcomes: str) -> int:
        reports = [report for outcome in outcomes for report in terminalreporter.stats.get(outcome, [])]
        return sum(("needs", mark) in map(tuple, getattr(report, "user_properties", ())) for report in reports)

    properties = [
        found for report in terminalreporter.stats.get("passed", []) for found in getattr(report, "user_properties", ())
    ]
    if explored := [sizes for name, sizes in properties if name == "explored"]:
        states, steps, interleavings = (sum(sizes) for sizes in zip(*explored, strict=True))
        mistakes = sum(name == "mistake" for name, _ in properties)
        terminalreporter.write_line(
            f"log model: {states:,} states, {steps:,} steps, {interleavings:.1e} interleavings of writers and readers"
            f" within {len(explored)} bounds kept every promise; {mistakes} mistakes were found"
        )
    for mark in _NEEDS:
        terminalreporter.write_line(
            f"{mark} tests: {count(mark, 'passed', 'failed')} ran, {count(mark, 'skipped')} skipped"
        )
