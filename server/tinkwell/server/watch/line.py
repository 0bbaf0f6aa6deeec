"""What watchers of one client may share: a connection, over which what is written for all of them leaves together."""

from typing import Protocol


class Line(Protocol):
    """A connection. Neither method may raise or wait."""

    def hold(self) -> None:
        """Keep back what is written from now on, as far as it does not fill packets."""

    def send(self) -> None:
        """Let what was kept back go, and what is written from now on at once."""
