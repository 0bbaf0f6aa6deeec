"""Connections to the input and the output of a container, and the threads that write and read them.

Theory of operation. A request to attach becomes a raw connection once the engine has agreed. Input and output are
attached before the container is started, so no output is missed. If this process dies, the container's input ends.

    input     all bytes are written, then the sending half of the connection is closed, which ends the container's
              stdin; the other half stays open until the engine closes it
    output    frames of both streams are read, to the end of the container

Each connection has a thread, which ends with the container, or when the connection is cut. A container never blocks on
its output: the thread reads all of it, and drops what exceeds the limits.
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
    """A raw connection, taken from the engine's answer to a request to attach."""

    def __init__(self, response: requests.Response, on_closed: "Callable[[Attachment], None]") -> None:
        self._response = response
        self._on_closed = on_closed
        self._socket: socket.socket = response.raw.connection.sock  # type: ignore[union-attr]  # nothing is read yet
        self._socket.settimeout(None)

    def send(self, data: bytes) -> None:
        """Send bytes; blocks while the container does not read them."""
        self._socket.sendall(data)

    def end_input(self) -> None:
        """Close the sending half."""
        if isinstance(self._socket, ssl.SSLSocket):
            _say_goodbye(self._socket)
        else:
            self._socket.shutdown(socket.SHUT_WR)

    def receive(self) -> bytes:
        """Wait for bytes, and return them; empty at the end."""
        return self._socket.recv(CHUNK_BYTES)

    def cut(self) -> None:
        """Shut the connection down, so that a thread that waits for it wakes up and ends."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection; it must not be used after this."""
        self._response.close()
        self._on_closed(self)


def _say_goodbye(secured: ssl.SSLSocket) -> None:
    """Close the sending half of a TLS connection; the engine closes the other half at the end of the container."""
    secured.setblocking(False)
    try:
        while True:
            try:
                secured.unwrap()
            except ssl.SSLWantWriteError:
                # select() would fail for descriptors from 1024 on.
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
    """Write a container's input, in a thread. It is no error if the container ends without reading all of it."""
    try:
        attachment.send(data)
        attachment.end_input()
        on_fed()
        while attachment.receive():
            pass
    except OSError as error:
        logger.debug("a container has not read all of its input", extra={"cause": str(error)})
    finally:
        attachment.close()


class Answering:
    """The output of a container that is asked for an answer: its stdout is the answer, its stderr is lines.

    A thread calls `read`; the loop calls the other methods. At most `answer_bytes` of the answer are kept, and the
    lines that `output.OutputReader` yields. If the answer is longer, the thread calls `kill_soon` once. That function
    must not wait, because the thread must go on to read the rest of the output.
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
        # Whether the loop was woken for lines that it has not taken yet.
        self._is_told = False

    def read(self) -> None:
        """Read to the end, in a thread."""
        frames = output.FrameReader()
        try:
            while chunk := self._attachment.receive():
                for stream, payload in frames.feed(chunk):
                    self._take(stream, payload)
        except OSError as error:
            logger.warning(
                "the connection to a container's output broke off; its answer is lost", extra={"cause": str(error)}
            )
            self._is_broken = True
        finally:
            self._attachment.close()
            self._finish(is_whole=frames.is_between)

    async def ended(self) -> None:
        """Wait for the end of the output."""
        await self._has_ended.wait()

    async def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        """Yield the lines of stderr from the first one on, until the output has ended."""
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
        """Stop reading, because the rest of the output does not come; the answer then counts as lost."""
        self._is_broken = True
        self._attachment.cut()

    def answer(self) -> bytes:
        """Return the answer; the output must have ended. Raises `RunError` if it is too long or broke off."""
        if self._is_too_long:
            message = f"it answers with more than {self._answer_bytes:,} bytes"
            raise port.RunError(port.Reason.ANSWER, message)
        if self._is_broken:
            raise port.RunError(port.Reason.LOST, BROKE_OFF)
        return bytes(self._answer)

    def _take(self, stream: LogStream | None, payload: bytes) -> None:
        """Keep a payload: as lines if it is stderr, else as a part of the answer if there is room for it."""
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
        with contextlib.suppress(RuntimeError):  # The loop is closed, so nobody waits.
            self._loop.call_soon_threadsafe(event.set)
