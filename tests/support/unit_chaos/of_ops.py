"""What the applications of a chaos run have that run a charm of ops, and what operators ask of tasks and secrets."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support import tiny_charm
from tinkwell import client
from tinkwell.core.charm import package

COUNTER = Path(tiny_charm.__file__).parent / "counter_of_ops"
# The others run scripts. Each event of these is a process that imports ops.
NAMES = ("pg", "queue")
MAX_UNITS = 2
_MAX_SECRETS = 3


def charm(version: int) -> bytes:
    """Make the charm in one of its versions, which differ in nothing that matters, with its packages in it."""
    note = package.NewFile("version", str(version).encode())
    return package.pack([*tiny_charm.packed(COUNTER), note])


class Requests:
    """Asks for tasks, and does with secrets what users do, by chance. Only charms of ops have an action."""

    def __init__(self, connected: client.Client, *, chance: random.Random, namespace: str) -> None:
        self._applications = connected.applications
        self._secrets = connected.secrets
        self._chance = chance
        self._namespace = namespace

    def weights(self) -> Mapping[Callable[[], Awaitable[Any]], int]:
        """Return what is asked for, and how often each of it is."""
        return {
            self._run: 6,
            self._exec: 2,
            self._cancel: 1,
            self._create_secret: 2,
            self._update_secret: 3,
            self._grant_secret: 3,
            self._use_secret: 2,
            self._remove_secret: 1,
        }

    async def clear(self) -> None:
        """Remove all secrets of users."""
        for name in await self._own():
            await self._secrets.remove(name, namespace=self._namespace)

    async def _run(self) -> None:
        is_to_fail = self._chance.random() < 0.2
        unit = await self._unit(NAMES)
        await self._applications.run(unit, "turn", {"is-to-fail": is_to_fail}, namespace=self._namespace)

    async def _exec(self) -> None:
        command = self._chance.choice(["true", "sleep 0.5; exit 3", "state-set last=exec"])
        unit = await self._unit(())
        await self._applications.exec(unit, ["sh", "-c", command], namespace=self._namespace)

    async def _cancel(self) -> None:
        name = self._chance.choice(NAMES)
        found = [each.id async for each in self._applications.tasks(name, namespace=self._namespace)]
        if found:
            await self._applications.cancel(found[0])

    async def _create_secret(self) -> None:
        if len(await self._own()) < _MAX_SECRETS:
            await self._secrets.create(self._content(), namespace=self._namespace)

    async def _update_secret(self) -> None:
        await self._secrets.update(await self._secret(), self._content(), namespace=self._namespace)

    async def _grant_secret(self) -> None:
        change = self._secrets.grant if self._chance.random() < 0.7 else self._secrets.revoke
        await change(await self._secret(), self._chance.choice(NAMES), namespace=self._namespace)

    async def _use_secret(self) -> None:
        name = self._chance.choice(NAMES)
        token = f"secret:{await self._secret()}"
        await self._applications.set_config(name, {"token": token}, namespace=self._namespace)

    async def _remove_secret(self) -> None:
        await self._secrets.remove(await self._secret(), namespace=self._namespace)

    async def _secret(self) -> str:
        found = await self._own()
        return self._chance.choice(found) if found else "0" * 20

    async def _own(self) -> Sequence[str]:
        """Return the names of the users' secrets."""
        namespace = self._namespace or "default"
        return [each.name async for each in self._secrets.list(namespace=namespace) if not each.owner]

    def _content(self) -> dict[str, str]:
        return {"password": self._chance.randbytes(4).hex()}

    async def _unit(self, applications: Sequence[str]) -> str:
        """Choose a unit of applications, of all where none is named."""
        units = self._applications.units(namespace=self._namespace)
        found = [unit.name async for unit in units if not applications or unit.application in applications]
        return self._chance.choice(found) if found else f"{NAMES[0]}/0"
