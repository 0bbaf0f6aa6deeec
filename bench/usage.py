"""What processes have used, from /proc: processor time and memory, with all their descendants."""

import asyncio
import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Usage:
    """Processor time since the processes began, and the resident memory they have now."""

    cpu_seconds: float
    rss_bytes: int


def of(pid: int) -> Usage:
    """Measure a process and its descendants, those that ended included. Raises `ProcessLookupError`."""
    cpu_ticks, rss_pages = 0, 0
    for member in _tree(pid):
        try:
            fields = _stat(member)
        except (FileNotFoundError, ProcessLookupError):
            if member == pid:
                raise ProcessLookupError(f"process {pid} has ended") from None
            continue
        # The last two are those of children that have ended and were waited for.
        cpu_ticks += sum(int(fields[place]) for place in (11, 12, 13, 14))
        rss_pages += int(fields[21])
    return Usage(cpu_ticks / _TICKS, rss_pages * _PAGE_BYTES)


def own_seconds(pid: int) -> float:
    """Return the processor time of a process alone, without its descendants. Raises `FileNotFoundError`."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS


class Meter:
    """Processor time of named processes between its making and `read`."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = dict(pids)
        self._began = monotonic()
        self._before = {name: of(pid).cpu_seconds for name, pid in self._pids.items()}

    def read(self) -> dict[str, float]:
        """Return how many cores each process kept busy on average."""
        seconds = monotonic() - self._began
        return {name: (of(pid).cpu_seconds - self._before[name]) / seconds for name, pid in self._pids.items()}


class Memory:
    """A process's resident memory while something runs: what it had before, and the most it had."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.before_bytes = of(pid).rss_bytes
        self.most_bytes = self.before_bytes

    @classmethod
    @contextlib.contextmanager
    def watched(cls, pid: int) -> Iterator["Memory"]:
        """Look at it again and again until the block ends."""
        memory = cls(pid)
        looking = asyncio.get_running_loop().create_task(memory._look())
        try:
            yield memory
        finally:
            looking.cancel()

    async def _look(self) -> None:
        while True:
            self.most_bytes = max(self.most_bytes, of(self._pid).rss_bytes)
            await asyncio.sleep(_LOOK_SECONDS)


def _tree(pid: int) -> list[int]:
    found = [pid]
    for member in found:
        try:
            threads = list(Path(f"/proc/{member}/task").iterdir())
            children = " ".join((thread / "children").read_text() for thread in threads)
        except (FileNotFoundError, ProcessLookupError):
            continue
        found.extend(int(child) for child in children.split())
    return found


def _stat(pid: int) -> list[str]:
    # The name in brackets may hold spaces; what follows it does not.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
