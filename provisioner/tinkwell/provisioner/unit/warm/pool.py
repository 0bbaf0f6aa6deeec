"""The fork servers of a machine: which there are, and which events begin by one of them.

    event ─▶ is its dispatch known? ─▶ is its server ready? ─▶ fork                       otherwise it is started, cold
                                            └─▶ none yet: begin one, beside the event

There is one for each charm, Python and virtual environment. Those that were used last stay, and end once nobody has
used them for a while. What goes wrong with one is no matter of an event: that is started, and another server only after
a pause. An event that has begun when its server dies is lost, and is given once more.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tinkwell.client.backoff import Backoff
from tinkwell.provisioner.runtime.process.account import Account
from tinkwell.provisioner.unit import script
from tinkwell.provisioner.unit.script import Script
from tinkwell.provisioner.unit.warm import recipe as recipes
from tinkwell.provisioner.unit.warm.recipe import Recipe
from tinkwell.provisioner.unit.warm.server import Child, Failed, Order, Server, Unfit

logger = logging.getLogger(__name__)

MAX_SERVERS = 8
# One that was used so lately does not make room for another charm's.
BUSY_SECONDS = 60.0
# More than a tick of update-status by default.
IDLE_SECONDS = 900.0
FIRST_PAUSE_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 600.0
LOOK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Key:
    """What a server is for: a charm's digest, its Python, and the folder of a unit, if packages are there."""

    digest: str
    python: str
    folder: str


@dataclass(slots=True)
class _Place:
    """What there is for a key: a server, or one that begins, or a pause until another is tried."""

    used_at: float
    server: Server | None = None
    is_starting: bool = False
    next_try_at: float = 0.0
    pause: Backoff = field(
        default_factory=lambda: Backoff(
            first_seconds=FIRST_PAUSE_SECONDS, longest_seconds=LONGEST_PAUSE_SECONDS, draw=lambda _, most: most
        )
    )

    @property
    def is_used(self) -> bool:
        """Whether somebody waits for what is here."""
        return self.is_starting or (self.server is not None and self.server.children > 0)


class Pool:
    """Fork servers, which run `program`, and are recorded in `folder`. `account` is whom they run as."""

    def __init__(self, folder: Path, program: Path, account: Account | None = None) -> None:
        self._folder = folder
        self._program = program
        self._account = account
        self._places: dict[_Key, _Place] = {}
        # All that have not ended, and of those the ones that end with their last children.
        self._servers: set[Server] = set()
        self._left: set[Server] = set()
        self._tasks: asyncio.TaskGroup | None = None
        self._number = 0

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["Pool"]:
        """Have servers until the block ends; those that a dead agent has left are ended. Raises `OSError`."""
        await asyncio.to_thread(end_former, self._folder)
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                looking = tasks.create_task(self._look(), name="fork servers")
                try:
                    yield self
                finally:
                    self._tasks = None
                    looking.cancel()
        finally:
            self._places.clear()
            await asyncio.gather(*map(self._end, [*self._servers]))

    async def fork(self, wanted: Script, digest: str, python: Path) -> Child | None:
        """Fork for a program of the charm with this digest; None where it is to be started."""
        try:
            recipe = await asyncio.to_thread(recipes.find, wanted.folder, wanted.argv)
        except OSError:
            return None  # which the start meets, too
        if recipe is None or self._tasks is None:
            return None
        key = _Key(digest, str(python), recipe.folder if recipe.is_own else "")
        if (place := self._place(key)) is None:
            return None
        environment = {**wanted.environment, **recipe.variables}
        if (server := place.server) is None:
            self._begin(key, place, recipe, environment)
            return None
        try:
            child = await server.fork(recipe, environment)
        except Unfit as error:
            logger.info("an event begins cold", extra={"folder": recipe.folder, "cause": str(error)})
            return None
        except Failed as error:
            fields = {"folder": recipe.folder, "cause": str(error)}
            logger.warning("an event begins cold, for its fork server fails", extra=fields)
            self._give_up(place, server)
            return None
        if server.is_proven:
            place.pause.reset()
        return child

    def retain(self, digests: Iterable[str], *, changed: Path) -> None:
        """End the servers of charms that no unit here has, and the one of the unit whose charm has changed."""
        kept, folder = frozenset(digests), os.path.realpath(changed)
        for key in [key for key in self._places if key.digest not in kept or key.folder == folder]:
            self._leave(self._places.pop(key).server)

    def _place(self, key: _Key) -> _Place | None:
        """Return the place of a key, which is used now; None where all are taken by others."""
        now = asyncio.get_running_loop().time()
        if key not in self._places:
            if len(self._places) >= MAX_SERVERS:
                oldest = min(self._places, key=lambda each: self._places[each].used_at)
                if self._places[oldest].is_used or now - self._places[oldest].used_at < BUSY_SECONDS:
                    return None
                self._leave(self._places.pop(oldest).server)
            self._places[key] = _Place(now)
        self._places[key].used_at = now
        return self._places[key]

    def _begin(self, key: _Key, place: _Place, recipe: Recipe, environment: Mapping[str, str]) -> None:
        """Begin a server beside the event, unless one begins already, or it is too early for another try."""
        if place.is_starting or self._tasks is None or asyncio.get_running_loop().time() < place.next_try_at:
            return
        place.is_starting = True
        self._number += 1
        order = Order(
            program=self._program,
            recipe=recipe,
            environment=environment,
            record=self._folder / str(self._number),
            account=self._account,
        )
        self._tasks.create_task(self._start(key, place, order), name="a fork server")

    async def _start(self, key: _Key, place: _Place, order: Order) -> None:
        server = None
        try:
            server = Server(order)
            self._servers.add(server)
            await server.prepare()
        except (Failed, OSError) as error:
            fields = {"charm": key.digest, "cause": str(error)}
            logger.warning("events of a charm begin cold, for its fork server does not start", extra=fields)
            self._give_up(place, server)
            return
        finally:
            place.is_starting = False
        logger.info("a fork server begins", extra={"charm": key.digest, "server": server.name})
        if self._places.get(key) is place:
            place.server = server
        else:
            self._leave(server)

    def _give_up(self, place: _Place, server: Server | None) -> None:
        """Do without a server, and try another one after a pause."""
        if place.server in (None, server):
            place.server = None
            place.next_try_at = asyncio.get_running_loop().time() + place.pause.next_seconds()
        self._leave(server)

    def _leave(self, server: Server | None) -> None:
        """Have a server end with its last child."""
        if server is not None:
            self._left.add(server)
            if not server.children and self._tasks is not None:
                self._tasks.create_task(self._end(server), name="the end of a fork server")

    async def _look(self) -> None:
        """End the servers that no event uses, again and again."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = asyncio.get_running_loop().time()
            for key, place in list(self._places.items()):
                if not place.is_used and now - place.used_at > IDLE_SECONDS and now > place.next_try_at:
                    self._leave(self._places.pop(key).server)
            for server in [each for each in self._left if not each.children]:
                await self._end(server)

    async def _end(self, server: Server) -> None:
        self._left.discard(server)
        try:
            await server.end()
        except OSError as error:
            logger.warning("a fork server does not end well", extra={"cause": str(error)})
        self._servers.discard(server)


def end_former(folder: Path) -> None:
    """End the servers that a dead agent has left, by their records. Raises `OSError`."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for record in folder.iterdir():
        script.end_former(record)
