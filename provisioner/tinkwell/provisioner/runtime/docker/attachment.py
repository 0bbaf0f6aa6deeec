"""A container's input or output as a connection of its own, and what reads and writes it in threads.

Theory of operation. A request to attach becomes a raw connection once the engine has agreed. Both are attached before
the container is started, so nothing it writes is missed, and the death of this process is the end of its input.

    input     everything is written, then the sending half of the connection is closed, which ends the container's
              stdin; the rest of the connection stays until the engine closes it
    output    frames of both streams, to the end of the container

Each has a thread, which ends with the container, or when the connection is cut. Neither can hold a container up: its
output is read whether anybody wants it or not, and what is beyond a limit is dropped.
"""

import asyncio
import contextlib
import logging
import select
import socket
import ssl
import threading
from collections.abc import AsyncGenerator, Callable, Iterable

import requests

from tinkwell.client.workflow.model import LogStream
from tinkwell.provisioner.runtime import output, port

logger = logging.getLogger(__name__)

CHUNK_BYTES = 64 * 1024
BROKE_OFF = "its answer broke off: the connection to the engine ended before it did"


class Attachment:
    """A raw connection, which is made of the answer that the engine agrees with."""

    def __init__(self, response: requests.Response, on_closed: "Callable[[Attachment], None]") -> None:
        self._response = response
        self._on_closed = on_closed
        self._socket: socket.socket = response.raw.connection.sock  # type: ignore[union-attr]  # nothing is read yet
        self._socket.settimeout(None)

    def send(self, data: bytes) -> None:
        """Send bytes; waits for as long as the container does not read them."""
        self._socket.sendall(data)

    def end_input(self) -> None:
        """Close the sending half."""
        if isinstance(self._socket, ssl.SSLSocket):
            _say_goodbye(self._socket)
        else:
            self._socket.shutdown(socket.SHUT_WR)

    def receive(self) -> bytes:
        """Wait for bytes; empty at the end."""
        return self._socket.recv(CHUNK_BYTES)

    def cut(self) -> None:
        """Take the connection away from under whoever uses it in another thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, which nobody may use any more."""
        self._response.close()
        self._on_closed(self)


def _say_goodbye(secured: ssl.SSLSocket) -> None:
    """End our half of a TLS connection; the engine's own goodbye comes at the end of the container."""
    secured.setblocking(False)
    try:
        while True:
            try:
                secured.unwrap()
            except ssl.SSLWantWriteError:
                # Not select(), whose files must have small numbers.
                writable = select.poll()
                writable.register(secured, select.POLLOUT)
                writable.poll()
            except ssl.SSLWantReadError:
                return
            else:
                return
    finally:
        secured.setblocking(True)


def feed(attachment: Attachment, data: bytes, on_fed: Callable[[], None]) -> None:
    """Give a container its input, in a thread; a container that ends, or takes no more of it, is no fault."""
    try:
        attachment.send(data)
        attachment.end_input()
        on_fed()
        while attachment.receive():
            pass
    except OSError as error:
        logger.debug("a container's input was not taken to its end", extra={"cause": str(error)})
    finally:
        attachment.close()


class Answering:
    """What a container says to who has asked it: its stdout is the answer, its stderr is lines.

    `read` is done by a thread, the rest by the loop. At most `answer_bytes` of the answer are kept, and of the lines
    what `output.OutputReader` yields. An answer that is longer is a reason to call `kill_soon`, once and in the thread,
    which must not wait: the rest of the output is still to be taken.
    """

    def __init__(self, attachment: Attachment, answer_bytes: int, kill_soon: Callable[[], None]) -> None:
        self._attachment = attachment
        self._answer_bytes = answer_bytes
        self._kill_soon = kill_soon
        self._loop = asyncio.get_running_loop()
        self._has_ended = asyncio.Event()
        self._has_news = asyncio.Event()
        self._answer = bytearray()
        self._is_too_long = False
        self._is_broken = False
        self._reader = output.OutputReader()
        # The lock guards what follows.
        self._lock = threading.Lock()
        self._lines: list[output.OutputLine] = []
        self._opened: output.OutputLine | None = None
        self._is_over = False
        # The loop knows of lines that it has not taken.
        self._is_told = False

    def read(self) -> None:
        """Read to the end, in a thread."""
        frames = output.FrameReader()
        try:
            while chunk := self._attachment.receive():
                for stream, payload in frames.feed(chunk):
                    self._take(stream, payload)
        except OSError as error:
            logger.warning("the output of a container broke off", extra={"cause": str(error)})
            self._is_broken = True
        finally:
            self._attachment.close()
            self._finish(is_whole=frames.is_between)

    async def ended(self) -> None:
        """Wait for the end of the output."""
        await self._has_ended.wait()

    async def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        """Yield the lines from the first one on."""
        begin, opened = 0, None
        while True:
            self._has_news.clear()
            with self._lock:
                lines, latest, is_over = self._lines[begin:], self._opened, self._is_over
                self._is_told = False
            begin += len(lines)
            for line in lines:
                yield line
            if latest is not None and latest is not opened:
                opened = latest
                yield latest
            if not lines and is_over:
                return
            if not lines:
                await self._has_news.wait()

    @property
    def is_over(self) -> bool:
        """Whether the output has ended."""
        return self._has_ended.is_set()

    def break_off(self) -> None:
        """End the output, whose rest does not come any more: the answer is not whole."""
        self._is_broken = True
        self._attachment.cut()

    def answer(self) -> bytes:
        """Return the answer, once the output has ended; raises `RunError`."""
        if self._is_too_long:
            message = f"it answers with more than {self._answer_bytes:,} bytes"
            raise port.RunError(port.Reason.ANSWER, message)
        if self._is_broken:
            raise port.RunError(port.Reason.LOST, BROKE_OFF)
        return bytes(self._answer)

    def _take(self, stream: LogStream | None, payload: bytes) -> None:
        """Keep a payload, or as much of it as there is room for."""
        if stream is LogStream.STDERR:
            self._keep(self._reader.feed(output.frame(stream, payload)))
        elif len(self._answer) + len(payload) <= self._answer_bytes:
            self._answer += payload
        elif not self._is_too_long:
            self._is_too_long = True
            self._kill_soon()

    def _keep(self, lines: Iterable[output.OutputLine]) -> None:
        for line in lines:
            with self._lock:
                self._opened = line if line.is_open else None
                if not line.is_open:
                    self._lines.append(line)
                is_told, self._is_told = self._is_told, True
            if not is_told:
                self._wake(self._has_news)

    def _finish(self, *, is_whole: bool) -> None:
        self._is_broken = self._is_broken or not is_whole
        self._keep(self._reader.finish())
        with self._lock:
            self._is_over = True
        self._wake(self._has_news)
        self._wake(self._has_ended)

    def _wake(self, event: asyncio.Event) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
            self._loop.call_soon_threadsafe(event.set)
