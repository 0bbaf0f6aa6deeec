"""What deleting a file of some size does to another file's flushes, without PostgreSQL: the disk's own share."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_CHUNK = bytes(1 << 20)
_PAGE = bytes(8192)
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
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        flushing = pool.submit(_flush, directory / "small", stop)
        try:
            large.unlink()
            time.sleep(_AFTERWARDS_SECONDS)
        finally:
            stop.set()
        return flushing.result()


def _flush(path: Path, stop: threading.Event) -> float:
    """Write a page and flush it, again and again until told to stop; return the seconds that the slowest flush took."""
    slowest = 0.0
    with path.open("wb", buffering=0) as file:
        while not stop.wait(_PAUSE_SECONDS):
            file.seek(0)
            file.write(_PAGE)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            slowest = max(slowest, time.perf_counter() - began)
    return slowest
