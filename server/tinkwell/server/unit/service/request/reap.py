"""What is done after a request that has ended something: what nothing needs any more is deleted."""

from typing import Protocol


class Reap(Protocol):
    """Deletes, in transactions of its own, what is DEAD, or DYING with nobody in it."""

    async def __call__(self, *, actor: str) -> None:
        """Delete what may be deleted now."""
