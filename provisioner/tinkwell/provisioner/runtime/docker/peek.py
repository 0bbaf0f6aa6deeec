"""Shows the line that a container is writing at the moment.

The engine's log has a line only when it is complete. A progress, which carriage returns overwrite, may not be complete
for hours. So the reader of a log also attaches to the container, and takes the incomplete line from there. All complete
lines come from the log, so nothing is lost if the attachment begins late or breaks off.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable

from tinkwell.client.workflow.model import LogStream
from tinkwell.provisioner.runtime import output
from tinkwell.provisioner.runtime.docker import attachment
from tinkwell.provisioner.runtime.stream_line import StreamLines

# The shortest time between two calls of `on_news`.
PAUSE_SECONDS = 0.5


class Peek:
    """Reads the output of a container in its own thread, because a container blocks if an attached reader is slow.

    `on_news` is called in the loop after a progress has changed. The user must call `close`.
    """

    def __init__(self, attached: attachment.Attachment, on_news: Callable[[], None]) -> None:
        self._attached = attached
        self._on_news = on_news
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        # The lock guards what follows.
        self._lock = threading.Lock()
        self._lines = {stream: StreamLines() for stream in LogStream}
        self._completed = dict.fromkeys(LogStream, 0)
        self._is_told = False
        threading.Thread(target=self._read, name="docker-stream-peek", daemon=True).start()

    def progress(self, completed: dict[LogStream, int]) -> tuple[LogStream, bytes] | None:
        """Return the current progress and its stream, if it follows `completed` complete lines of each stream.

        The first state of a progress is not returned: reading may have begun in the middle of it, and a secret that is
        cut there would not be recognised.
        """
        with self._lock:
            self._is_told = False
            for stream, lines in self._lines.items():
                is_known = lines.is_progress and lines.has_begin
                if is_known and self._completed[stream] == completed[stream]:
                    return stream, lines.shown
        return None

    def close(self) -> None:
        """Close the attachment; the thread ends soon."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._attached.cut()

    def _read(self) -> None:
        """Read to the end, in the thread. It is no error if the attachment breaks off."""
        frames = output.FrameReader()
        try:
            while chunk := self._attached.receive():
                for stream, payload in frames.feed(chunk):
                    self._take(stream or LogStream.STDOUT, payload)
        except OSError:
            return
        finally:
            self._attached.close()

    def _take(self, stream: LogStream, payload: bytes) -> None:
        with self._lock:
            for _ in self._lines[stream].feed(payload):
                pass  # Complete lines come from the log.
            self._completed[stream] += payload.count(b"\n")
            is_told = self._is_told or not self._lines[stream].is_progress
            self._is_told = self._is_told or not is_told
        if not is_told:
            with contextlib.suppress(RuntimeError):  # The loop is closed, so nobody waits.
                self._loop.call_soon_threadsafe(self._tell_later)

    def _tell_later(self) -> None:
        if not self._is_closed:
            self._timer = self._loop.call_later(PAUSE_SECONDS, self._on_news)
