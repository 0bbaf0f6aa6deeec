"""Deleting for good what was deleted a while ago, beside those who write and watch."""

import tinkwell.client
from support.chaos.scene import Scene
from tinkwell.client import errors

_TIMEOUT_SECONDS = 20
# Something was down, or in the way.
_IN_VAIN = (errors.Unavailable, errors.DeadlineExceeded, errors.LostRace, errors.ResourceExhausted, errors.Closed)


class Pruning:
    """Asks servers to prune. Nobody who watches may be told anything of it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._age_seconds = 10.0 if scene.is_thorough else 1.0

    async def prune(self) -> bool:
        """Have machines forgotten that were deleted a while ago; return whether there were any."""
        address = self._scene.chance.choice(self._scene.servers).address
        try:
            async with (
                self._scene.gate.passed(),
                tinkwell.client.connect(address, timeout_seconds=_TIMEOUT_SECONDS, actor="pruner") as client,
            ):
                pruned = await client.workflows.prune(self._age_seconds, apply=True)
        except _IN_VAIN:
            return False
        except errors.Error as error:
            told = f"{error.code} {error.reason}: {error.message}"
            self._scene.ledger.complaints.append(f"whoever prunes was told {told}")
            return False
        return pruned.hardware > 0
