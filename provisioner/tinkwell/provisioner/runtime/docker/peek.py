"""What a container is writing at the moment.

The engine's log has a line once it is complete. A progress that is written over by carriage returns may not be for
hours, so who follows a log attaches to the container as well, and looks there at the line that is not complete. All
else comes from the log alone: what is attached may begin late and break off, and nothing is lost by that.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable

from tinkwell.client.workflow.model import LogStream
from tinkwell.provisioner.runtime import output
from tinkwell.provisioner.runtime.docker import attachment
from tinkwell.provisioner.runtime.stream_line import StreamLines

# However fast a progress is, nobody is woken more often than so.
PAUSE_SECONDS = 0.5


class Peek:
    """Reads what a container writes, in a thread of its own: a container waits for who is attached and does not read.

    `on_news` is called in the loop after something has changed. To be closed by its user.
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
        """Return the progress that follows on so many complete lines of each stream, as it stands."""
        with self._lock:
            self._is_told = False
            for stream, lines in self._lines.items():
                if lines.is_progress and self._completed[stream] == completed[stream]:
                    return stream, lines.shown
        return None

    def close(self) -> None:
        """Let go of the container; the thread ends soon."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._attached.cut()

    def _read(self) -> None:
        """Read to the end, in the thread; that it breaks off is no fault."""
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
                pass  # complete lines come from the log
            self._completed[stream] += payload.count(b"\n")
            is_told = self._is_told or not self._lines[stream].is_progress
            self._is_told = self._is_told or not is_told
        if not is_told:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
                self._loop.call_soon_threadsafe(self._tell_later)

    def _tell_later(self) -> None:
        if not self._is_closed:
            self._timer = self._loop.call_later(PAUSE_SECONDS, self._on_news)
