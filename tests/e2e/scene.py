"""What tests of workflows in real containers share: machines, templates, provisioners, and what the engine shows."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import docker
from integration.provisioner import engine_image

from support import process
from tinkwell.client import Client, Event, State

MACS = {"device_1": "52:54:00:10:00:03", "device_2": "52:54:00:10:00:04"}


@contextlib.asynccontextmanager
async def provisioner(
    server_address: str,
    folder: Path,
    *,
    log: str = "provisioner.log",
    serves: str = "all",
    options: Sequence[str] = (),
) -> AsyncIterator[process.Process]:
    """A provisioner that runs every machine's actions as containers, or those of one."""
    arguments = ("provisioner", "--server", server_address, "--agent-for", serves, "--runtime", "docker")
    place = ("--state-dir", str(folder / "state"))
    async with process.running(*arguments, *place, *options, log=folder / log) as running:
        await running.line("workflows are watched")
        yield running


def action(name: str, script: str, *, timeout: int = 60, more: str = "") -> str:
    return (
        f"      - name: {name}\n        image: {engine_image.IMAGE}\n        timeout: {timeout}\n"
        f"        command: [/bin/sh, -c, {script!r}]\n{more}"
    )


def task(name: str, device: str, folder: Path, *actions: str) -> str:
    return (
        f"  - name: {name}\n    worker: '{{{{.{device}}}}}'\n    volumes: ['{folder}:/data']\n"
        f"    environment: {{SITE: lab}}\n    actions:\n{''.join(actions)}"
    )


async def create(client: Client, *tasks: str, more: str = "") -> str:
    """Create a workflow of these tasks and return its id; `more` are other lines of the template."""
    name = f"t{uuid.uuid4().hex}"
    await client.templates.create(f"version: '0.1'\nname: {name}\n{more}tasks:\n{''.join(tasks)}")
    return (await client.workflows.create(name, MACS)).id


async def finished(client: Client, workflow: str, *, deadline_seconds: float = 60) -> State:
    """Wait until the workflow is final and return its state."""
    async with asyncio.timeout(deadline_seconds):
        async for event in client.workflows.watch(from_revision=1, resource_types=["WORKFLOW"], resource_id=workflow):
            if State(event.data["state"]).is_final:
                return State(event.data["state"])
    raise AssertionError("a watch ends only by an error")


async def events_of(client: Client, workflow: str) -> list[Event]:
    """Return the events of a finished workflow and its actions, in order."""
    found: list[Event] = []
    async with asyncio.timeout(20):
        watch = client.workflows.watch(from_revision=1, resource_types=["WORKFLOW", "ACTION"], resource_id=workflow)
        async with contextlib.aclosing(watch):
            async for event in watch:
                found.append(event)
                if event.resource_id == workflow and State(event.data["state"]).is_final:
                    return found
    raise AssertionError("a watch ends only by an error")


def containers(engine: docker.APIClient, workflow: str) -> list[str]:
    """The ids of the running containers of a workflow."""
    label = f"tinkwell.workflow={workflow}"
    return [found["Id"] for found in engine.containers(filters={"label": label, "status": "running"})]
