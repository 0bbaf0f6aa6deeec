"""The clean-up after a request that has ended something: rows that nothing needs are deleted."""

from typing import Protocol


class Reap(Protocol):
    """Deletes DEAD rows, and DYING ones without members, in transactions of its own."""

    async def __call__(self, *, actor: str) -> None:
        """Delete all that can be deleted now."""
