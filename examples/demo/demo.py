"""Everything at once: starts Tinkwell, has two machines installed, and shows each command and each event.

`make demo` runs it. Nothing outlives it: the database is a temporary one, and the "disks" are files in it. Actions run
in containers where a Docker Engine answers and has or can get a base image ($DEMO_BASE, busybox:stable), and as
processes elsewhere; DEMO_RUNTIME=process or docker decides it by hand.
"""

import asyncio
import os
import re
import shlex
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import docker
import docker.errors
import requests

from tinkwell.server.app.dev import child

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
IMAGES = HERE / "images"
TINKWELL = str(Path(sys.executable).with_name("tinkwell"))
HARDWARE = [f"examples/demo/hardware/rack1-node{number}.json" for number in ("03", "04")]
DEVICES = {"device_1": "52:54:00:10:00:03", "device_2": "52:54:00:10:00:04"}
FINAL = ["WORKFLOW_SUCCEEDED", "WORKFLOW_FAILED", "WORKFLOW_TIMEOUT", "WORKFLOW_CANCELLED"]

ENGINE_SECONDS = 20
START_SECONDS = 90
COMMAND_SECONDS = 60
WORKFLOW_SECONDS = 150


class DemoFailed(Exception):
    """The demo cannot go on; the text says why."""


async def main() -> str:
    """Run the demo, and return the runtime that it chose. Raises `DemoFailed`."""
    runtime = await asyncio.to_thread(choose_runtime)
    say(f"Starting the server, an embedded PostgreSQL and a provisioner ({runtime} runtime) ...")
    async with tinkwell_dev(runtime) as address:
        os.environ["TINKWELL_SERVER"] = address
        say(f"$ export TINKWELL_SERVER={address}")
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
    return runtime


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
        reason = str(error).splitlines()[0][:120]
        say(f"Actions run as processes of this machine, since there is no use of Docker here: {reason}")
        return "process"
    return "docker"


def build_images() -> None:
    """Build the images from the scripts that the process runtime would run."""
    base = os.environ.get("DEMO_BASE", "busybox:stable")
    folder = IMAGES / "tinkwell-demo"
    engine = docker.from_env(timeout=ENGINE_SECONDS)
    try:
        try:
            engine.images.get(base)
        except docker.errors.ImageNotFound:
            engine.images.pull(base)
        for action in sorted(path.parent for path in folder.glob("*/run")):
            engine.images.build(
                path=str(action),
                dockerfile=str(folder / "Dockerfile"),
                tag=f"tinkwell-demo/{action.name}:v1",
                buildargs={"BASE": base},
                rm=True,
            )
    finally:
        engine.close()


@asynccontextmanager
async def tinkwell_dev(runtime: str) -> AsyncIterator[str]:
    """Run `tinkwell dev` in the background; yields the server's address."""
    options = ["dev", "--ephemeral", "--port", "0", "--http-port", "0", "--runtime", runtime]
    with tempfile.TemporaryFile() as log:
        process = await child.start(
            [TINKWELL, *options, "--process-images", str(IMAGES)], death_signal=signal.SIGTERM, output=log
        )
        try:
            yield await address_in(log.fileno(), process)
        except BaseException:
            say(f"What the server and the provisioner wrote:\n{written(log.fileno())}")
            raise
        finally:
            await child.stop(process, (signal.SIGTERM,), patience_seconds=COMMAND_SECONDS)


async def address_in(log: int, process: asyncio.subprocess.Process) -> str:
    """Wait until `tinkwell dev` says where it answers."""
    async with asyncio.timeout(START_SECONDS):
        while not (ready := re.search(r"^gRPC +(\S+)\n.*\nDatabase ", written(log), re.MULTILINE)):
            if process.returncode is not None:
                raise DemoFailed("tinkwell dev did not start")
            await asyncio.sleep(0.05)
    return ready.group(1)


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
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            output, _ = await process.communicate()
    finally:
        await child.stop(process, (signal.SIGTERM,), patience_seconds=COMMAND_SECONDS)
    text = output.decode()
    print(text, end="", flush=True)
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
    say(
        f'The demo succeeded. Next: run `make dev ARGS="--runtime {chosen}"` in one terminal, '
        "`. .venv/bin/activate` and the commands above in another, and read README.md."
    )
