"""The provisioner's process: from settings to a driver that runs until a signal comes."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import Callable, Container, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tinkwell import client
from tinkwell.client.lease.keeper import Keeper
from tinkwell.core.value.run_key import RunKind
from tinkwell.provisioner.hardware import enrolment, presence
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.release import core_event, place
from tinkwell.provisioner.release import driver as release_driver
from tinkwell.provisioner.release import host as release_host
from tinkwell.provisioner.release.call import image_policy, plug
from tinkwell.provisioner.release.lifecycle import listener
from tinkwell.provisioner.runtime import open_file, port
from tinkwell.provisioner.runtime.docker import setting
from tinkwell.provisioner.runtime.docker.runtime import ANSWER_SECONDS, DockerRuntime
from tinkwell.provisioner.runtime.process.account import Account
from tinkwell.provisioner.runtime.process.runtime import ProcessRuntime
from tinkwell.provisioner.state_dir import state_dir
from tinkwell.provisioner.unit import agent as unit_agent
from tinkwell.provisioner.workflow import driver
from tinkwell.sandbox.room import Room

logger = logging.getLogger(__name__)

# An engine on this machine answers within milliseconds; without one, nobody should wait for it.
AUTO_SECONDS = 2
REMOVE_SECONDS = 20
# At most CHILDREN processes at once evaluate and check texts that strangers wrote.
CHILDREN = 4
# An agent for units serves at most MAX_MACHINES machines.
MAX_MACHINES = 1_000
# Objects made before the youngest are looked at for garbage, and how often they are before the older ones.
COLLECT_AFTER = (50_000, 20, 20)


class RuntimeName(StrEnum):
    """Where actions run. AUTO means docker where an engine answers, and otherwise process."""

    AUTO = "auto"
    DOCKER = "docker"
    PROCESS = "process"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSettings:
    """What is done about releases; `plugs` are what of this machine their resources may use."""

    namespaces: Container[str]
    plugs: Sequence[plug.Grant] = ()
    images: image_policy.ImagePolicy = field(default_factory=image_policy.ImagePolicy)
    concurrency: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a provisioner needs to know."""

    server: str
    token: str | None = None
    tls: client.TLS | None = None
    serves: Container[str]
    runtime: RuntimeName = RuntimeName.AUTO
    state_dir: Path
    concurrency: int = 8
    process_images: Path | None = None
    # Whom processes, and programs of charms, run as; None: as this one does.
    process_user: Account | None = None
    docker: setting.DockerSettings = field(default_factory=setting.DockerSettings)
    resync_seconds: float = 30.0
    is_ephemeral: bool = False
    # None: nothing is done about releases.
    releases: ReleaseSettings | None = None
    # Whether units run here whose charms are no programs of the library: those of the machines that are served, and
    # those of none.
    serves_units: bool = False
    # Whether each event of a charm of ops starts Python anew.
    is_cold: bool = False
    # Machines that announce themselves and have no workflow get one from this template.
    default_template: str | None = None
    # What else runs here until the driver stops, such as rules; it may end before.
    beside: Callable[[client.Client], Coroutine[object, object, None]] | None = None


def start(settings: Settings) -> None:
    """Have this process do what `run` does, and little else.

    A thousand jobs are hundreds of thousands of objects, none of which is garbage. The collector looks at all of them
    whenever some more have been made, which is a good part of what actions cost; so it is to look seldom, and never at
    what was imported.
    """
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    open_file.raise_limit()
    asyncio.run(run(settings))


async def run(settings: Settings) -> None:
    """Work until SIGTERM or SIGINT; what runs is left running, for the next provisioner to adopt.

    An ephemeral one, whose state directory ends with it, has no next provisioner, and removes what it runs. Raises
    `state_dir.StateError`, `port.RunError`, `registry.WrongRegistry` or `client.errors.Error` for what only an operator
    can mend.
    """
    registry = core_event.of_provisioner()
    listener.load(registry)
    with contextlib.closing(state_dir.StateDir.open(settings.state_dir)) as directory, _signals() as stopped:
        runtime = await open_runtime(settings, directory)
        claims = run_claim.ClaimFolder(directory)
        try:
            await asyncio.to_thread(directory.note_runtime, runtime.name)
            actor = f"provisioner@{socket.gethostname()}"
            async with client.connect(settings.server, token=settings.token, tls=settings.tls, actor=actor) as server:
                logger.info(
                    "the provisioner begins",
                    extra={
                        "server": server.address,
                        "runtime": runtime.name,
                        "state_dir": directory.path,
                        "slot": directory.slot,
                    },
                )
                keeper = _keeper(server, runtime, directory)
                worker = driver.Driver(
                    server.workflows,
                    runtime,
                    directory,
                    keeper=keeper,
                    claims=claims,
                    serves=settings.serves,
                    concurrency=settings.concurrency,
                    resync_seconds=settings.resync_seconds,
                )
                works: dict[str, Coroutine[object, object, None]] = {"driver": worker.run(), "keeper": keeper.run()}
                if settings.releases is not None:
                    host = _host(
                        settings.releases, server, runtime, directory, keeper=keeper, claims=claims, registry=registry
                    )
                    works["releases"] = _release_driver(settings.releases, host, settings.resync_seconds).run()
                if settings.serves_units:
                    present = presence.Presence(server)
                    if not isinstance(settings.serves, frozenset):
                        works["machines"] = present.run()
                    works["units"] = _unit_agent(settings, server, directory, keeper, present).run()
                if settings.default_template is not None:
                    works["enrolment"] = enrolment.Enrolment(server, settings.default_template).run()
                if settings.beside is not None:
                    works["automation"] = settings.beside(server)
                try:
                    await _run_until(stopped, works)
                finally:
                    if settings.is_ephemeral and await _remove_runs(runtime, claims):
                        await keeper.end()
        finally:
            await runtime.close()


async def open_runtime(settings: Settings, directory: state_dir.StateDir) -> port.Runtime:
    """Open the runtime that was asked for; raises `port.RunError` where it does not answer."""
    if settings.runtime is not RuntimeName.PROCESS:
        is_asked_for = settings.runtime is RuntimeName.DOCKER
        try:
            return await DockerRuntime.connect(
                directory,
                concurrency=settings.concurrency,
                fed_concurrency=settings.releases.concurrency if settings.releases is not None else 0,
                settings=settings.docker,
                answer_seconds=ANSWER_SECONDS if is_asked_for else AUTO_SECONDS,
            )
        except port.RunError as error:
            if is_asked_for:
                raise
            logger.warning("actions run as processes, for want of a Docker Engine", extra={"cause": str(error)})
    return await asyncio.to_thread(_open_processes, settings, directory)


def _open_processes(settings: Settings, directory: state_dir.StateDir) -> port.Runtime:
    account = settings.process_user
    who = "the provisioner" if account is None else f"the account {account.name}"
    logger.warning("processes are not isolated: an action may do whatever %s may", who)
    runtime = ProcessRuntime(directory, settings.process_images, account=account)
    if account is not None:
        account.check_reach("the state directory", directory.path)
        if settings.process_images is not None:
            account.check_reach("the folder of images", settings.process_images.absolute())
    return runtime


def _keeper(server: client.Client, runtime: port.Runtime, directory: state_dir.StateDir) -> Keeper:
    """Make the keeper of the lease. Whoever has the same engine, and shares the directory, can take its runs over."""
    engine = ":".join((directory.instance, runtime.name, runtime.engine_id))
    return Keeper(server.work, owner=directory.owner, engine=engine)


def _host(
    settings: ReleaseSettings,
    server: client.Client,
    runtime: port.Runtime,
    directory: state_dir.StateDir,
    *,
    keeper: Keeper,
    claims: run_claim.Claims,
    registry: listener.Lifecycle,
) -> release_host.Host:
    return release_host.Host(
        api=server.releases,
        lease=keeper,
        runtime=runtime,
        claims=claims,
        folder=directory.release_dir,
        grants=settings.plugs,
        images=settings.images,
        places=place.Places(settings.concurrency),
        keys=place.Keys(),
        room=Room(CHILDREN),
        lifecycle=registry,
    )


def _release_driver(settings: ReleaseSettings, host: release_host.Host, resync_seconds: float) -> release_driver.Driver:
    worker = release_driver.Driver(
        host, namespaces=settings.namespaces, concurrency=settings.concurrency, resync_seconds=resync_seconds
    )
    host.lease.add(RunKind.RELEASE, worker)
    return worker


def _unit_agent(
    settings: Settings,
    server: client.Client,
    directory: state_dir.StateDir,
    keeper: Keeper,
    present: presence.Presence,
) -> unit_agent.Agent:
    is_told = False

    async def machines() -> frozenset[str]:
        if isinstance(settings.serves, frozenset):
            return settings.serves
        nonlocal is_told
        found = sorted(await present.ids())
        if len(found) > MAX_MACHINES and not is_told:
            is_told = True
            fields = {"served": MAX_MACHINES, "machines": len(found)}
            logger.warning("units are run on some machines only: name others by --agent-for", extra=fields)
        return frozenset(found[:MAX_MACHINES])

    async def storages(namespace: str) -> frozenset[str]:
        return frozenset([storage.name async for storage in server.applications.storages(namespace=namespace)])

    async def history() -> str:
        async with server.applications.watch(now=True) as watch:
            await watch.wait_live()
            return watch.history_id

    if settings.process_user is not None:
        directory.let_through()
    return unit_agent.Agent(
        api=server.units,
        storages=storages,
        history=history,
        lease=keeper,
        path=directory.unit_dir,
        machines=machines,
        concurrency=settings.concurrency,
        # What it asks is known here, and costs nothing.
        resync_seconds=unit_agent.CHECK_SECONDS,
        account=settings.process_user,
        is_cold=settings.is_cold,
    )


async def _remove_runs(runtime: port.Runtime, claims: run_claim.Claims) -> bool:
    """Remove what runs, but for what others here run; False where that failed."""
    try:
        async with asyncio.timeout(REMOVE_SECONDS):
            for kind in RunKind:
                held = await runtime.held(kind)
                others = await asyncio.to_thread(claims.others, kind)
                for key in held:
                    if key.main not in others and (run := await runtime.find(key)) is not None:
                        await run.remove()
    except (OSError, TimeoutError, port.RunError) as error:
        logger.warning("what runs cannot be removed", extra={"cause": str(error) or type(error).__name__})
        return False
    return True


@contextlib.contextmanager
def _signals() -> Iterator[asyncio.Event]:
    """Turn SIGTERM and SIGINT into an event until the block ends.

    One that comes twice must not interrupt what is still to be cleared up: a parent's death is told once for each of
    its threads.
    """
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    try:
        yield stopped
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def _run_until(stopped: asyncio.Event, works: Mapping[str, Coroutine[object, object, None]]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work, name=name) for name, work in works.items()]
            await stopped.wait()
            logger.info("the provisioner stops")
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as failures:
        raise _first_error(failures) from failures


def _first_error(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended the driver where it is one that a user can read, and otherwise the whole group."""
    errors = failures.subgroup(client.errors.Error)
    first: BaseException | None = errors
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first or failures
