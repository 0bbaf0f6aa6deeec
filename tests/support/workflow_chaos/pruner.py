"""Forgets workflows while others come, run and are killed, and in the end all of them."""

import asyncio
import random
from typing import NoReturn

import tinkwell.client
from tinkwell.client import Pruned, errors

# Longer than a call is repeated: a workflow that is created once more, after it was forgotten, is another one.
_AGE_SECONDS = 30.0
_LONGEST_PAUSE_SECONDS = 4.0
_TIMEOUT_SECONDS = 10
_FINISH_SECONDS = 60
# Something was down, or in the way, and the next call goes on.
_AGAIN = (errors.Unavailable, errors.DeadlineExceeded, errors.LostRace, errors.ResourceExhausted)


class Pruner:
    """Asks servers to forget. What a server should not have answered is a complaint."""

    name = "pruner"

    def __init__(self, address: str, *, chance: random.Random) -> None:
        self.complaints: list[str] = []
        self.pruned = Pruned()
        self.calls = 0
        self.interrupted = 0
        self._chance = chance
        self._client = tinkwell.client.connect(address, timeout_seconds=_TIMEOUT_SECONDS, actor="pruner")

    async def run(self) -> NoReturn:
        """Have what has ended a while ago forgotten, again and again until cancelled."""
        while True:
            await self._prune(_AGE_SECONDS)
            await asyncio.sleep(self._chance.uniform(0, _LONGEST_PAUSE_SECONDS))

    async def finish(self) -> None:
        """Have everything forgotten that has ended."""
        async with asyncio.timeout(_FINISH_SECONDS):
            while await self._prune(0) != Pruned():
                pass

    async def close(self) -> None:
        """Let go of the connection."""
        await self._client.close()

    async def _prune(self, age_seconds: float) -> Pruned | None:
        """Make a call; returns what is gone, None if that is not known."""
        self.calls += 1
        try:
            pruned = await self._client.workflows.prune(age_seconds, apply=True)
        except _AGAIN:
            self.interrupted += 1
            return None
        except errors.Error as error:
            self.complaints.append(f"to prune was answered by {error.code} {error.reason}: {error.message}")
            return None
        self.pruned += pruned
        return pruned
