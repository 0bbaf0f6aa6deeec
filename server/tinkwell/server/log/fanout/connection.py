"""What watchers of one client may share: a connection, over which what is written for all of them leaves together."""

from typing import Protocol


class Line(Protocol):
    """A connection."""

    def hold(self) -> None:
        """Keep back what is written during this turn of the event loop, as far as it does not fill packets.

        May be called before each write; neither raises nor waits.
        """
