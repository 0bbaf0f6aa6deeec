"""The event loop of the servers: asyncio's, which wakes once where gRPC would have it wake hundreds of times."""

import asyncio
import functools
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVarTuple

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

_Ts = TypeVarTuple("_Ts")

# So many wake-ups are taken at once.
_MANY = 65_536
# The method of gRPC's that is called for each wake-up.
_HANDLER = "_handle_events"


class Loop(asyncio.SelectorEventLoop):
    """Takes gRPC's wake-ups together.

    A thread of gRPC's writes a byte for each operation that has ended, and gRPC's handler reads one byte each time the
    loop calls it, though the first call already handles all that has ended. So after a message to two hundred watchers
    the loop would go round two hundred times, and find nothing to do in nearly all of them.
    """

    def add_reader(self, fd: "FileDescriptorLike", callback: Callable[[*_Ts], Any], *args: *_Ts) -> None:
        """Have the callback called whenever there is something to read."""
        handler = callback.func if isinstance(callback, functools.partial) else callback
        if isinstance(fd, socket.socket) and getattr(handler, "__name__", "") == _HANDLER:
            super().add_reader(fd, _handle_once, fd, functools.partial(callback, *args))
        else:
            super().add_reader(fd, callback, *args)


def _handle_once(wake_ups: socket.socket, handle: Callable[[], Any]) -> None:
    """Read all wake-ups but the one that the handler reads. What ended before they came it finds in its queue."""
    count = len(wake_ups.recv(_MANY, socket.MSG_PEEK))
    if count > 1:
        wake_ups.recv(count - 1)
    handle()
