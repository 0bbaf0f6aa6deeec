"""How the input of a container ends over TLS."""

import contextlib
import fcntl
import resource
import socket
import ssl
from collections.abc import Iterator
from typing import cast

import pytest

from tinkwell.provisioner.runtime.docker import attachment

# select() takes no file with such a number.
NUMBER = 1_500


class Secured:
    """A TLS connection that has to wait once before its goodbye is written."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._waits = 1
        self.has_said_goodbye = False
        self.is_blocking = True

    def fileno(self) -> int:
        return self._number

    def setblocking(self, flag: bool) -> None:
        self.is_blocking = flag

    def unwrap(self) -> None:
        if self._waits:
            self._waits -= 1
            raise ssl.SSLWantWriteError
        self.has_said_goodbye = True


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_connection_says_goodbye_however_many_files_are_open(many_files: None) -> None:
    with contextlib.ExitStack() as stack:
        ours, theirs = socket.socketpair()
        stack.enter_context(ours)
        stack.enter_context(theirs)
        high = stack.enter_context(socket.socket(fileno=fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, NUMBER)))
        secured = Secured(high.fileno())
        attachment._say_goodbye(cast(ssl.SSLSocket, secured))
        assert (secured.has_said_goodbye, secured.is_blocking) == (True, True)
