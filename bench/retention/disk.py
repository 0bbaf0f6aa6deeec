"""What deleting a file of some size does to another file's flushes, without PostgreSQL: the disk's own share."""

import os
import threading
import time
from pathlib import Path

_CHUNK = bytes(1 << 20)
_PAUSE_SECONDS = 0.001
# Long enough for what the deletion leaves to be done.
_AFTERWARDS_SECONDS = 1.0


def slowest_flush(directory: Path, size: int) -> float:
    """Write a file of so many bytes, delete it, and return the seconds that the slowest flush beside that took."""
    large = directory / "large"
    with large.open("wb") as file:
        for _ in range(-(-size // len(_CHUNK))):
            file.write(_CHUNK)
        file.flush()
        os.fsync(file.fileno())
    flushes = _Flushes(directory / "small")
    flushes.start()
    large.unlink()
    time.sleep(_AFTERWARDS_SECONDS)
    return flushes.stop()


class _Flushes:
    """One flush after the other, of a page that is written before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stop = threading.Event()
        self._slowest = 0.0
        self._thread = threading.Thread(target=self._flush)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> float:
        self._stop.set()
        self._thread.join()
        return self._slowest

    def _flush(self) -> None:
        with self._path.open("wb", buffering=0) as file:
            while not self._stop.wait(_PAUSE_SECONDS):
                file.seek(0)
                file.write(_CHUNK[:8192])
                began = time.perf_counter()
                os.fdatasync(file.fileno())
                self._slowest = max(self._slowest, time.perf_counter() - began)
