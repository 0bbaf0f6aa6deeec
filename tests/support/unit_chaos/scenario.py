"""The charm of scripts, which fail now and then, and operators who ask for whatever there is of all applications."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from support.unit_chaos import of_ops
from tinkwell import client
from tinkwell.client import errors
from tinkwell.core.charm import package
from tinkwell.core.unit.kinds import EventKind, EventState, Life, Profile

NAMES = ("web", "pg", "cache", "queue")
MAX_UNITS = 4
# What an operator may be told who asks for something at random.
SENSELESS = (errors.NotFound, errors.AlreadyExists, errors.IllegalTransition, errors.InvalidField)
# What he is told while everything is being killed. He does not ask again, since it may have been done.
_CALL_SECONDS = 20.0
_MANIFEST = """
name: any
kind: scripts
provides: {serve: {interface: any}}
requires: {use: {interface: any}}
peers: {cluster: {interface: any-cluster}}
storage: {data: {type: filesystem, multiple: {range: 0-2}}}
config: {options: {workers: {type: int, default: 1}}}
"""
# One of 25 fails after it has asked for what must not land then, and some take a while. Bags change where somebody may
# be told of it.
_HOOK = """#!/bin/sh
# version {version}
draw=$(od -An -N1 -tu1 /dev/urandom)
state-set "draw=$draw"
case $JUJU_HOOK_NAME in
*-relation-joined|*-relation-changed)
    test "$draw" -lt 60 && relation-set -r "$JUJU_RELATION_ID" "k=$((draw / 20))"
    test "$draw" -gt 200 && test "$(is-leader)" = True && relation-set -r "$JUJU_RELATION_ID" --app "k=$draw"
    ;;
esac
test "$draw" -lt 220 || sleep 0.3
test "$draw" -ge 10
"""


def charm(version: int) -> bytes:
    """Make the charm in one of its versions, which differ in nothing that matters."""
    endpoints = ("serve", "use", "cluster")
    names = [
        f"{each}-{kind}" if kind.is_relation else f"data-{kind}" if kind.is_storage else str(kind)
        for kind in EventKind
        for each in (endpoints if kind.is_relation else ("",))
    ]
    hook = _HOOK.format(version=version).encode()
    files = [package.NewFile(f"hooks/{name}", hook, is_executable=True) for name in names]
    return package.pack([package.NewFile("charm.yaml", _MANIFEST.encode()), *files])


class Operator:
    """Asks for something again and again, by chance."""

    name = "operator"

    def __init__(
        self,
        connected: client.Client,
        *,
        machines: Sequence[str],
        chance: random.Random,
        pause_seconds: float,
        namespace: str,
    ) -> None:
        self.asked: Counter[str] = Counter()
        self.refused = 0
        self.complaints: list[str] = []
        self._applications = connected.applications
        self._namespace = namespace
        self._machines = machines
        self._chance = chance
        self._pause_seconds = pause_seconds
        self._charms = (charm(1), charm(2))
        self._charms_of_ops = (of_ops.charm(1), of_ops.charm(2))
        self._others = of_ops.Requests(connected, chance=chance, namespace=namespace)

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self.ask()
            await asyncio.sleep(self._chance.uniform(0, 2 * self._pause_seconds))

    async def ask(self) -> None:
        """Ask for one thing."""
        weights = self._weights()
        (make,) = self._chance.choices(list(weights), list(weights.values()))
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                await make()
        except (errors.Internal, errors.CharmRefused) as error:
            self.complaints.append(f"{make.__name__}: {error}")
        except SENSELESS:
            self.refused += 1
        except (errors.Error, TimeoutError) as error:
            self.asked[f"without an answer ({type(error).__name__})"] += 1
        else:
            self.asked[make.__name__.removeprefix("_")] += 1

    async def settle(self) -> bool:
        """Resolve what has failed until nothing is due any more; True once that is so."""
        resting, namespace = True, self._namespace
        async for unit in self._applications.units(namespace=namespace, with_settled=True):
            if unit.event is not None and unit.event.state is EventState.ERROR:
                with contextlib.suppress(*SENSELESS):
                    await self._applications.resolve(unit.name, namespace=namespace)
            resting = resting and unit.settled
        async for application in self._applications.list(namespace=namespace):
            resting = resting and application.life is Life.ALIVE
        return resting

    async def clear(self) -> bool:
        """Remove all applications; True once there are none."""
        found = [each async for each in self._applications.list(namespace=self._namespace)]
        for application in found:
            if application.life is Life.ALIVE:
                with contextlib.suppress(*SENSELESS):
                    await self._applications.remove(application.name, namespace=self._namespace)
        await self._others.clear()
        await self.settle()
        return not found

    async def unit_ids(self) -> set[str]:
        """Return the ids of the units that there are."""
        return {unit.id async for unit in self._applications.units(namespace=self._namespace)}

    def _weights(self) -> Mapping[Callable[[], Awaitable[Any]], int]:
        return {
            self._deploy: 6,
            self._add_unit: 6,
            self._remove_unit: 3,
            self._remove: 1,
            self._relate: 5,
            self._unrelate: 2,
            self._set_config: 3,
            self._refresh: 1,
            self._attach: 2,
            self._detach: 2,
            self._resolve: 6,
            self._skip: 1,
            self._request: 2,
            **self._others.weights(),
        }

    async def _deploy(self) -> None:
        name, is_literal = self._name(), self._chance.random() < 0.5
        # One of ops has no choice.
        profile: dict[str, Any] = (
            {} if name in of_ops.NAMES else {"profile": Profile.LITERAL if is_literal else Profile.JUJU}
        )
        await self._applications.deploy(
            name,
            self._charms_for(name)[0],
            units=self._chance.randint(1, 2),
            **profile,
            **self._place(name),
            storage={"data": 1},
            namespace=self._namespace,
        )

    async def _add_unit(self) -> None:
        name = self._name()
        most = of_ops.MAX_UNITS if name in of_ops.NAMES else MAX_UNITS
        if (await self._applications.get(name, namespace=self._namespace)).units < most:
            await self._applications.add_units(
                name, 1, **self._place(name), storage={"data": self._chance.randint(0, 1)}, namespace=self._namespace
            )

    async def _remove_unit(self) -> None:
        is_forced, keeps = self._chance.random() < 0.25, self._chance.random() < 0.3
        await self._applications.remove_unit(
            await self._unit(), force=is_forced, keep_storage=keeps, namespace=self._namespace
        )

    async def _remove(self) -> None:
        await self._applications.remove(self._name(), force=self._chance.random() < 0.2, namespace=self._namespace)

    async def _relate(self) -> None:
        one, other = self._chance.sample(NAMES, 2)
        await self._applications.relate(f"{one}:serve", f"{other}:use", namespace=self._namespace)

    async def _unrelate(self) -> None:
        found = [each.number async for each in self._applications.relations(namespace=self._namespace) if not each.peer]
        if found:
            await self._applications.unrelate(number=self._chance.choice(found), namespace=self._namespace)

    async def _set_config(self) -> None:
        await self._applications.set_config(
            self._name(), {"workers": self._chance.randint(1, 9)}, namespace=self._namespace
        )

    async def _refresh(self) -> None:
        name = self._name()
        await self._applications.refresh(name, self._chance.choice(self._charms_for(name)), namespace=self._namespace)

    async def _attach(self) -> None:
        detached = [each.name async for each in self._applications.storages(namespace=self._namespace) if not each.unit]
        await self._applications.attach(
            await self._unit(), self._chance.choice([*detached, "data"]), namespace=self._namespace
        )

    async def _detach(self) -> None:
        found = [each.name async for each in self._applications.storages(namespace=self._namespace) if each.unit]
        if found:
            await self._applications.detach(self._chance.choice(found), namespace=self._namespace)

    async def _resolve(self) -> None:
        await self._applications.resolve(await self._unit(), namespace=self._namespace)

    async def _skip(self) -> None:
        await self._applications.resolve(await self._unit(), skip=True, namespace=self._namespace)

    async def _request(self) -> None:
        calls = (
            self._applications.collect_metrics,
            self._applications.prepare_upgrade,
            self._applications.finish_upgrade,
        )
        await self._chance.choice(calls)(await self._unit(), namespace=self._namespace)

    async def _unit(self) -> str:
        found = [unit.name async for unit in self._applications.units(namespace=self._namespace)]
        return self._chance.choice(found) if found else "web/0"

    def _name(self) -> str:
        return self._chance.choice(NAMES)

    def _charms_for(self, name: str) -> Sequence[bytes]:
        return self._charms_of_ops if name in of_ops.NAMES else self._charms

    def _place(self, name: str) -> dict[str, Any]:
        """Choose where units are to be: on a machine, where the server puts them, or anywhere.

        What ops keeps is on the disk of who runs it, and does not go with a unit to another machine.
        """
        places: list[dict[str, Any]] = [{"machines": [self._chance.choice(self._machines)]}, {}]
        return self._chance.choice(places if name in of_ops.NAMES else [*places, {"anywhere": True}])
