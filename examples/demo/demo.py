"""Everything at once: starts Tinkwell, and shows each command and what comes of it, in four acts.

    1  two machines are installed by a workflow, with each event
    2  a release puts a role, a database and a file on top, is changed, and is removed
    3  two charms are related, scaled, touched and parted, with what each unit is told
    4  two charms that were written for Juju are related through a secret; where `ops` cannot be installed, as without a
       network, two charms in Python are

`make demo` runs it. Nothing outlives it: the database is a temporary one, and the "disks" are files in it. Actions run
in containers where a Docker Engine answers and has or can get a base image ($DEMO_BASE, busybox:stable), and as
processes elsewhere; DEMO_RUNTIME=process or docker decides it by hand. Containers reach no PostgreSQL of this machine,
so their release is one of two files, by an image that is made of $DEMO_PYTHON_BASE (python:3-alpine) where that can be
had.
"""

import asyncio
import io
import os
import re
import shlex
import signal
import sys
import tarfile
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import docker
import docker.errors
import requests

import tinkwell.client
from tinkwell.cli.unit import line as unit_line
from tinkwell.client import Client, UnitEvent, Watch
from tinkwell.core.unit.kinds import EventState
from tinkwell.server.app.dev import binaries, child

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
IMAGES = HERE / "images"
RESOURCES = ROOT / "examples" / "resources"
PAGE = "examples/charms/page/page.py"
TEXT = "examples/charms/text"
LOGIN = "examples/charms/login/login.py"
OPS = "ops >= 2.23"
TINKWELL = str(Path(sys.executable).with_name("tinkwell"))
HARDWARE = [f"examples/demo/hardware/rack1-node{number}.json" for number in ("03", "04")]
DEVICES = {"device_1": "52:54:00:10:00:03", "device_2": "52:54:00:10:00:04"}
FINAL = ["WORKFLOW_SUCCEEDED", "WORKFLOW_FAILED", "WORKFLOW_TIMEOUT", "WORKFLOW_CANCELLED"]

ENGINE_SECONDS = 20
START_SECONDS = 90
COMMAND_SECONDS = 60
WORKFLOW_SECONDS = 150
SETTLE_SECONDS = 60
# Agents install what charms of ops need before their first event.
INSTALL_SECONDS = 300
STEP_DONE = "demo.step_done"


class DemoFailed(Exception):
    """The demo cannot go on; the text says why."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where `tinkwell dev` answers."""

    grpc: str
    http: str
    database: str


async def main() -> str:
    """Run the demo, and return the runtime that it chose. Raises `DemoFailed`."""
    runtime = await asyncio.to_thread(choose_runtime)
    say(f"Starting the server, an embedded PostgreSQL and a provisioner ({runtime} runtime) ...")
    if runtime == "process":
        # Resources call `tinkwell` and `psql`.
        programs = (Path(TINKWELL).parent, binaries.find().directory, os.environ["PATH"])
        os.environ["PATH"] = os.pathsep.join(map(str, programs))
    async with tinkwell_dev(runtime) as where:
        os.environ["TINKWELL_SERVER"] = where.grpc
        say(f"$ export TINKWELL_SERVER={where.grpc}")
        await workflow_act()
        await release_act(runtime, where)
        await unit_act(where)
        await secret_act(where)
    return runtime


async def workflow_act() -> None:
    """Have two machines installed. Raises `DemoFailed`."""
    async with events() as finished:
        await run("hardware", "push", *HARDWARE)
        await run("template", "create", "examples/demo/template.yaml")
        devices = [text for name, value in DEVICES.items() for text in ("--device", f"{name}={value}")]
        workflow_id = (await run("workflow", "create", "--template", "two_nodes", *devices)).split()[-1]
        async with asyncio.timeout(WORKFLOW_SECONDS):
            outcome = await finished
    await run("workflow", "state", workflow_id)
    await run("workflow", "logs", workflow_id)
    if outcome != "WORKFLOW_SUCCEEDED":
        raise DemoFailed(f"the workflow ended with {outcome}")


async def release_act(runtime: str, where: Addresses) -> None:
    """Bring a release about, change one value of it, and remove it. Raises `DemoFailed`."""
    if runtime == "process":
        given = {
            "tinkwell": where.grpc,
            "page": f"{where.http}/readyz",
            "postgres_host": parse_qs(urlsplit(where.database).query)["host"][0],
            "postgres_user": str(urlsplit(where.database).username),
        }
        name, change = "shop", "connections=20"
        say("The machines are there. A release adds a role and a database of PostgreSQL, and a file that names them:")
    elif problem := await asyncio.to_thread(build_resource):
        say(f"There is no release to see, since its image cannot be built: {problem}")
        return
    else:
        name, given, change = "hello", {}, "who=you"
        say("A release of two files, of which one tells of the other:")
    variables = [text for key, value in given.items() for text in ("--var", f"{key}={value}")]
    apply = ("release", "apply", name, f"examples/release/{name}.yaml", *variables)
    await run(*apply)
    await run("release", "status", name)
    say("With another value, what does not depend on it is left alone:")
    await run(*apply, "--var", change)
    say("And the release goes, but for what was there before it:")
    await run("release", "uninstall", name)


async def unit_act(where: Addresses) -> None:
    """Have two applications live together, and judge what their units were told. Raises `DemoFailed`."""
    say("Two applications are made of charms: a page, which is a Python program, and a text, which is scripts:")
    async with (
        tinkwell.client.connect(where.grpc) as client,
        client.events.watch(now=True) as watch,
    ):
        await watch.wait_live()
        await run("app", "deploy", "text", TEXT, "--to", "anywhere")
        await run("app", "deploy", "page", PAGE, "--to", "anywhere")
        async with agent(PAGE, "page"):
            await show_units(client, watch)
            say("Related, each side is told of the other:")
            await change(client, watch, "app", "relate", "text", "page")
            say("A second unit meets all that are there:")
            await change(client, watch, "app", "scale", "text", "2", "--to", "anywhere")
            say("And leaves them:")
            await change(client, watch, "app", "scale", "text", "1")
            say("The other one writes something else into its bag, and both sides hear of that:")
            await change(client, watch, "app", "config", "text", "text=Good morning!")
            say("The relation ends:")
            await change(client, watch, "app", "unrelate", "text", "page")
    say("Did every unit get all its events, once and in order?")
    await run("unit", "audit")
    say("Every promise held.")


async def secret_act(where: Addresses) -> None:
    """Have two applications live together through a secret. Raises `DemoFailed`."""
    problem = await can_install(OPS)
    async with tinkwell.client.connect(where.grpc) as client:
        if problem:
            say(f"Charms of ops are not shown, since ops cannot be installed here: {problem}")
            say("Two charms in Python share a login by a secret, which nobody else may read:")
            async with agent(f"{LOGIN}:Login", "login"), agent(f"{LOGIN}:Site", "site"):
                await share(client, f"{LOGIN}:Login", f"{LOGIN}:Site")
        else:
            say("Two charms that were written for Juju share a login by a secret, which nobody else may read:")
            await share(client, "examples/charms/ops-login", "examples/charms/ops-site")
    say("Did every unit get its events about the secret, once and in order?")
    await run("unit", "audit")


async def share(client: Client, login: str, site: str) -> None:
    """Relate who gives a login away and who needs one, and change the password."""
    await run("app", "deploy", "login", login, "--to", "anywhere")
    await run("app", "deploy", "site", site, "--to", "anywhere")
    await client.applications.settled("login", "site", timeout_seconds=INSTALL_SECONDS)
    await run("app", "relate", "login", "site")
    await client.applications.settled("login", "site", timeout_seconds=SETTLE_SECONDS)
    await run("secret", "list")
    await run("unit", "run", "site/0", "show", "--wait")
    say("Another password reaches the other side by itself:")
    await run("unit", "run", "login/leader", "rotate-now", "--wait")
    await client.applications.settled("login", "site", timeout_seconds=SETTLE_SECONDS)
    await run("unit", "run", "site/0", "show", "--wait")
    await run("task", "list", "site")


async def can_install(requirement: str) -> str:
    """Say what keeps a package from being installed; nothing where it can be."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, requirement]
        process = await child.start(command, death_signal=signal.SIGTERM, output=log)
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                await process.wait()
        except TimeoutError:
            return f"pip gave no answer within {COMMAND_SECONDS} seconds"
        finally:
            await child.stop(process, (signal.SIGTERM,), patience_seconds=COMMAND_SECONDS)
        lines = written(log.fileno()).strip().splitlines()
        return "" if process.returncode == 0 else (lines[-1] if lines else "pip failed")[:120]


@asynccontextmanager
async def agent(program: str, application: str) -> AsyncIterator[None]:
    """Serve the units of an application of a charm in Python in the background."""
    command = [TINKWELL, "unit", "run", program, "--application", application]
    say(f"$ tinkwell {shlex.join(command[1:])} &")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        process = await child.start([*command, "--state-dir", folder], death_signal=signal.SIGTERM, output=log)
        try:
            yield
        except BaseException:
            say(f"What the agent of {application} wrote:\n{written(log.fileno())}")
            raise
        finally:
            await child.stop(process, (signal.SIGTERM,), patience_seconds=COMMAND_SECONDS)


async def change(client: Client, watch: Watch, *arguments: str) -> None:
    """Run a command, and show what the units are told because of it."""
    await run(*arguments)
    await show_units(client, watch)


async def show_units(client: Client, watch: Watch) -> None:
    """Wait until nothing is due for a unit, and print what each was told since the last time, in order."""
    await client.applications.settled("page", "text", timeout_seconds=SETTLE_SECONDS)
    await client.events.publish(STEP_DONE)  # what the units were told stands before it in the log
    told: dict[str, list[str]] = {}
    async for event in watch:
        if event.name == STEP_DONE:
            break
        resource = event.resource
        if isinstance(resource, UnitEvent) and resource.state is EventState.COMMITTED:
            told.setdefault(resource.unit, []).append(unit_line.about(resource))
    for unit in sorted(told):
        for number, text in enumerate(told[unit]):
            print(f"  {'' if number else unit:<8}{text}", flush=True)


def choose_runtime() -> str:
    """Return the runtime to use, with the images of the actions ready for it."""
    wanted = os.environ.get("DEMO_RUNTIME", "auto")
    if wanted == "process":
        return wanted
    try:
        build_images()
    except (docker.errors.DockerException, requests.RequestException) as error:
        if wanted == "docker":
            raise DemoFailed(f"the images of the actions cannot be built: {error}") from error
        say(f"Actions run as processes of this machine, because Docker cannot be used here: {first_line(error)}")
        return "process"
    return "docker"


def build_images() -> None:
    """Build the images from the scripts that the process runtime would run."""
    base = os.environ.get("DEMO_BASE", "busybox:stable")
    folder = IMAGES / "tinkwell-demo"
    with with_base(base) as engine:
        for action in sorted(path.parent for path in folder.glob("*/run")):
            engine.images.build(
                path=str(action),
                dockerfile=str(folder / "Dockerfile"),
                tag=f"tinkwell-demo/{action.name}:v1",
                buildargs={"BASE": base},
                rm=True,
            )


def build_resource() -> str:
    """Build the image of the release; says what keeps it from being built, nothing where it is there."""
    base = os.environ.get("DEMO_PYTHON_BASE", "python:3-alpine")
    try:
        with with_base(base) as engine:
            engine.images.build(
                fileobj=with_links(RESOURCES / "file"),
                custom_context=True,
                tag="tinkwell-resource/file:v1",
                buildargs={"BASE": base},
                rm=True,
            )
    except (docker.errors.DockerException, requests.RequestException) as error:
        return first_line(error)
    return ""


def with_links(folder: Path) -> io.BytesIO:
    """Return a tar of a folder in which what is linked is a file, such as the kit."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", dereference=True) as tar:
        for name in ("Dockerfile", "run", "kit.py"):
            tar.add(folder / name, name)
    buffer.seek(0)
    return buffer


@contextmanager
def with_base(base: str) -> Iterator[docker.DockerClient]:
    """Connect to the engine, and let it get the image that others are made from."""
    engine = docker.from_env(timeout=ENGINE_SECONDS)
    try:
        try:
            engine.images.get(base)
        except docker.errors.ImageNotFound:
            engine.images.pull(base)
        yield engine
    finally:
        engine.close()


def first_line(error: Exception) -> str:
    """Return what an error says, cut to a line."""
    return str(error).splitlines()[0][:120]


@asynccontextmanager
async def tinkwell_dev(runtime: str) -> AsyncIterator[Addresses]:
    """Run `tinkwell dev` in the background; yields where it answers."""
    options = ["dev", "--ephemeral", "--port", "0", "--http-port", "0", "--runtime", runtime]
    with tempfile.TemporaryFile() as log:
        process = await child.start(
            [TINKWELL, *options, "--process-images", str(IMAGES)], death_signal=signal.SIGTERM, output=log
        )
        try:
            yield await addresses_in(log.fileno(), process)
        except BaseException:
            say(f"What the server and the provisioner wrote:\n{written(log.fileno())}")
            raise
        finally:
            await child.stop(process, (signal.SIGTERM,), patience_seconds=COMMAND_SECONDS)


async def addresses_in(log: int, process: asyncio.subprocess.Process) -> Addresses:
    """Wait until `tinkwell dev` says where it answers."""
    ready = re.compile(r"^gRPC +(\S+)\nHTTP +(\S+)\nDatabase +(\S+)\n", re.MULTILINE)
    async with asyncio.timeout(START_SECONDS):
        while not (found := ready.search(written(log))):
            if process.returncode is not None:
                raise DemoFailed("tinkwell dev did not start")
            await asyncio.sleep(0.05)
    return Addresses(*found.groups())


def written(log: int) -> str:
    """Return all that is in the file, wherever its writer stands."""
    return os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace")


@asynccontextmanager
async def events() -> AsyncIterator["asyncio.Task[str]"]:
    """Show events as they happen; yields a task whose result is the type of the workflow's last event."""
    arguments = ["events", "watch", *(text for event_type in FINAL for text in ("--until", event_type))]
    say("$ tinkwell events watch &")
    process = await asyncio.create_subprocess_exec(TINKWELL, *arguments, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    try:
        async with asyncio.TaskGroup() as tasks:
            yield tasks.create_task(show(process), name="events")
    finally:
        await child.stop(process, (signal.SIGTERM,), patience_seconds=COMMAND_SECONDS)


async def show(process: asyncio.subprocess.Process) -> str:
    """Print the lines of a watch, and return the type in the last one."""
    assert process.stdout is not None
    last = ""
    async for line in process.stdout:
        last = line.decode().rstrip()
        print(f"  {last}", flush=True)
    found = [event_type for event_type in FINAL if event_type in last.split()]
    return found[0] if found else "no final event"


async def run(*arguments: str) -> str:
    """Run a command as a user would type it, and return what it printed. Raises `DemoFailed`."""
    say(f"$ tinkwell {shlex.join(arguments)}")
    process = await asyncio.create_subprocess_exec(TINKWELL, *arguments, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    text = ""
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            async for line in process.stdout:
                text += line.decode()
                print(line.decode(), end="", flush=True)
            await process.wait()
    finally:
        await child.stop(process, (signal.SIGTERM,), patience_seconds=COMMAND_SECONDS)
    if process.returncode != 0:
        raise DemoFailed(f"`tinkwell {arguments[0]} {arguments[1]}` failed")
    return text


def say(text: str) -> None:
    """Print a line of the demo's own."""
    print(f"\n{text}", flush=True)


if __name__ == "__main__":
    failure: BaseException | None = None
    try:
        chosen = asyncio.run(main())
    except* (DemoFailed, TimeoutError) as group:
        failure = group
    except* KeyboardInterrupt as group:
        failure = group
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    if failure is not None:
        sys.exit(f"\nThe demo failed: {str(failure) or type(failure).__name__}")
    # `make dev` runs actions as processes.
    command = "make dev" if chosen == "process" else f'make dev ARGS="--runtime {chosen}"'
    say(
        f"The demo succeeded. Next: run `{command}` in one terminal, "
        "`. .venv/bin/activate` and the commands above in another, and read README.md."
    )
