"""Releases that a provisioner has brought about at the command line's server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

import tinkwell.client
from support.command_line import CommandLine
from support.release_provisioner import Provisioner, apply
from tinkwell.client import Client
from tinkwell.core.event.kinds import State

T = TypeVar("T")

Work = Callable[[Callable[[Client, Provisioner], Awaitable[T]]], T]


class Site:
    """The command line, and a provisioner that does what a test says."""

    def __init__(self, cli: CommandLine) -> None:
        self.cli = cli

    def work(self, act: Callable[[Client, Provisioner], Awaitable[T]]) -> T:
        """Do something to the server as its client and as a provisioner."""

        async def connected() -> T:
            async with tinkwell.client.connect(self.cli.fake.address) as client:
                return await act(client, await Provisioner.enter(client))

        return asyncio.run(connected())


@pytest.fixture
def site(cli: CommandLine) -> Site:
    return Site(cli)


@pytest.fixture
def deployed(site: Site) -> Site:
    """The release shop is DEPLOYED."""

    async def deploy(client: Client, owner: Provisioner) -> None:
        await owner.deploy(await apply(client, description="first"))

    site.work(deploy)
    return site


@pytest.fixture
def failed(site: Site) -> Site:
    """The release shop has FAILED at its second resource."""

    async def fail(client: Client, owner: Provisioner) -> None:
        handle = await apply(client, reason="try")
        await owner.begin(handle.id)
        await owner.install(handle.id, "role")
        await owner.fail(handle.id, "db", "creating", 'role "bar" exists')
        await owner.finish(handle.id, State.FAILED, path="db")

    site.work(fail)
    return site


@pytest.fixture
def pending(site: Site) -> Site:
    """The release shop is to be installed, and nobody does so."""

    async def begin(client: Client, _: Provisioner) -> None:
        await apply(client)

    site.work(begin)
    return site
