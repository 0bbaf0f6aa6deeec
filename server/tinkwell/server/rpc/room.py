"""What a resource brings to the server's gRPC port. The `room.py` of each resource makes one."""

from collections.abc import Callable

import grpc.aio


class Room:
    """A gRPC service by its full name, and the function that adds its servicer to a server."""

    def __init__(self, service_name: str, add: Callable[[grpc.aio.Server], None]) -> None:
        self.service_name = service_name
        self._add = add

    def add_to(self, server: grpc.aio.Server) -> None:
        """Let a server that has not started serve this."""
        self._add(server)

    def close(self) -> None:
        """End open streams that are not watches, since the server stops; most rooms have none."""
