"""A writer that goes through the API of one server or another."""

import asyncio
import dataclasses
import random
import time
import uuid
from collections.abc import Coroutine, Sequence
from typing import Any

import tinkwell.client
from support.chaos.gate import Gate
from support.chaos.ledger import Ledger, Marks
from support.chaos.server import Server
from support.history.record import Change, Outcome
from tinkwell.client import errors
from tinkwell.client.event.model import Published
from tinkwell.client.value import change

_TIMEOUT_SECONDS = 10
# The call may or may not have been carried out. What a repeated call is refused for, its first try may have done.
_UNKNOWN = (errors.Unavailable, errors.DeadlineExceeded, errors.NotFound, errors.Closed)


class ApiWriter:
    """Writes until it is over; a server that does not answer is left for the other."""

    def __init__(
        self,
        name: str,
        servers: Sequence[Server],
        ledger: Ledger,
        *,
        hot: Sequence[uuid.UUID],
        chance: random.Random,
        gate: Gate,
    ) -> None:
        self._name = name
        self._servers = servers
        self._ledger = ledger
        self._hot = hot
        self._chance = chance
        self._gate = gate
        self._marks = Marks(name)
        self._machines: list[tuple[str, str]] = []

    async def run(self, is_over: asyncio.Event) -> None:
        """Write until it is over."""
        while not is_over.is_set():
            address = self._chance.choice(self._servers).address
            async with tinkwell.client.connect(address, timeout_seconds=_TIMEOUT_SECONDS, actor=self._name) as client:
                for _ in range(self._chance.randint(1, 200)):
                    async with self._gate.passed():
                        if is_over.is_set() or not await self._write(client):
                            break
                    await asyncio.sleep(self._chance.uniform(0, 0.1))
            await asyncio.sleep(0.05)

    async def _write(self, client: tinkwell.client.Client) -> bool:
        """Make a call and note how it ended; False when the server should be left."""
        self._marks.begin()
        (step,) = self._chance.choices(("push", "touch", "delete", "publish"), (40, 30, 15, 15))
        match step:
            case "touch":
                return await self._touch(client)
            case "delete" if self._machines:
                machine, token = self._machines.pop(self._chance.randrange(len(self._machines)))
                return await self._call(client.hardware.delete(machine), Change(token, "DELETED", machine, 2))
            case "publish":
                token = self._marks.next()
                publishing = client.events.publish("chaos.called", data={"token": token})
                return await self._call(publishing, Change(token, "CUSTOM"))
            case _:
                machine, token = str(uuid.UUID(int=self._chance.getrandbits(128), version=4)), self._marks.next()
                call = client.hardware.push({"id": machine, "metadata": {"token": token}})
                is_done = await self._call(call, Change(token, "CREATED", machine, 1))
                if is_done:
                    self._machines.append((machine, token))
                return is_done

    async def _touch(self, client: tinkwell.client.Client) -> bool:
        machine, token = str(self._chance.choice(self._hot)), self._marks.next()
        began_at = time.monotonic()
        try:
            version = (await client.hardware.by_id(machine)).version
        except errors.NotFound:
            return True  # somebody has deleted it; somebody will bring it back
        except errors.Error as error:
            return self._note(error, began_at) is not Outcome.UNKNOWN
        # Only a call that names the version is never repeated, and so never an event twice.
        call = client.hardware.push({"id": machine, "metadata": {"token": token}}, expected_version=version)
        return await self._call(call, Change(token, "UPDATED", machine, version + 1))

    async def _call(self, call: Coroutine[Any, Any, change.Change | Published], change: Change) -> bool:
        outcome, began = Outcome.UNKNOWN, time.time()
        began_at = time.monotonic()
        try:
            change = dataclasses.replace(change, revision=(await call).revision)
            outcome = Outcome.COMMITTED
        except errors.Error as error:
            outcome = self._note(error, began_at)
        finally:
            self._ledger.add(self._name, outcome, [change], began=began)
        return outcome is not Outcome.UNKNOWN

    def _note(self, error: errors.Error, began_at: float) -> Outcome:
        seconds = time.monotonic() - began_at
        if isinstance(error, _UNKNOWN):
            return Outcome.UNKNOWN
        if isinstance(error, errors.LostRace | errors.ResourceExhausted):
            return Outcome.ROLLED_BACK
        told = f"{error.code} {error.reason}: {error.message}"
        self._ledger.complaints.append(f"{self._name} was told, after {seconds:.1f} s at {time.ctime()}, {told}")
        return Outcome.UNKNOWN
