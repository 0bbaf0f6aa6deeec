"""Limits the connections of a port, in all and from one address, so that no client can keep all others out."""

import logging
from collections.abc import Hashable, Sequence
from typing import Generic, Protocol, TypeVar

from tinkwell.server.http import caller
from tinkwell.server.http.admission import Admission, Bounds, Full

logger = logging.getLogger(__name__)


class Connection(Hashable, Protocol):
    """A connection that can be admitted."""

    def cut(self) -> None:
        """Close it at once."""


C = TypeVar("C", bound=Connection)


class Gate(Generic[C]):
    """Counts connections. Those of proxies have no bound by address, because each may come from another client."""

    def __init__(self, bounds: Bounds, proxies: Sequence[caller.Network] = ()) -> None:
        self._admission: Admission[C, caller.Network] = Admission(bounds)
        self._bounds = bounds
        self._proxies = proxies

    def enter(self, connection: C, peer: str) -> bool:
        """Admit a connection, and close another one if needed. Return False if it cannot be admitted."""
        address = caller.parse_address("address", peer)
        is_proxy = any(address in network for network in self._proxies)
        try:
            replaced = self._admission.enter(connection, None if is_proxy else caller.neighbourhood(address))
        except Full:
            self._warn("a connection to the HTTP port was refused, since as many as may be are busy")
            return False
        if replaced is not None:
            self._warn("a connection to the HTTP port that asked for nothing was closed, since others need its place")
            replaced.cut()
        return True

    def leave(self, connection: C) -> None:
        """Free the place of a connection."""
        self._admission.leave(connection)

    def wait(self, connection: C) -> None:
        """Record that a connection waits for a request."""
        self._admission.wait(connection)

    def work(self, connection: C) -> None:
        """Record that a connection is busy with a request."""
        self._admission.work(connection)

    def cut_all(self) -> None:
        """Close all connections, whatever their state."""
        for connection in list(self._admission):
            connection.cut()

    def _warn(self, message: str) -> None:
        logger.warning(message, extra={"total": self._bounds.total, "per_address": self._bounds.per_place})
