"""Remembers the first line of a run's output, so that a reader notices if the engine has forgotten the beginning.

An engine with a limit for a run's output forgets the oldest lines first. A later reader that begins at the oldest line
that is left would give new lines the numbers of old ones. So the first reader writes down the stamp of the first line,
which is exact to a nanosecond and identifies the line, and the highest number that it may give; the file outlives the
provisioner. A reader that finds another first line adds a note and begins with numbers that were never given. So lines
stay in order, but some are repeated.

    STATE_DIR/logs/RUN.ATTEMPT[.HOOK]      {"stamp": "2026-01-01T00:00:00.000000000Z", "base": 0, "reserved": 1000}

A run has no mark before its first line was read. If the engine forgets lines before that, nobody notices.

Another file says that a run has got all of its input, which no engine tells either:

    STATE_DIR/fed/RUN.ATTEMPT[.HOOK]       an empty file
"""

import asyncio
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.runtime import output
from tinkwell.provisioner.state_dir import state_dir

RESERVE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """Lines are numbered from `base` + 1. No number above `reserved` was ever given."""

    stamp: str
    base: int
    reserved: int


class Mark:
    """The mark of one run. Each reader needs its own object. Methods raise `OSError` if the state directory fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entry: _Entry | None = None

    async def begin(self, stamp: str) -> int:
        """Return the number after which to number lines, of which the first has this stamp."""
        entry = self._entry or await asyncio.to_thread(self._load)
        if entry is None:
            entry = _Entry(stamp=stamp, base=0, reserved=RESERVE)
        elif entry.stamp != stamp:
            base = min(entry.reserved, output.MAX_BASE)
            entry = _Entry(stamp=stamp, base=base, reserved=base + RESERVE)
        if entry != self._entry:
            await self._save(entry)
        return entry.base

    async def reserve(self, number: int) -> None:
        """Make sure that no later reader gives this number to another line."""
        if self._entry is not None and number > self._entry.reserved:
            await self._save(replace(self._entry, reserved=number + RESERVE))

    async def _save(self, entry: _Entry) -> None:
        await asyncio.to_thread(self._store, entry)
        self._entry = entry

    def _load(self) -> _Entry | None:
        try:
            return _Entry(**json.loads(self._path.read_bytes()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise OSError(f"{self._path} is damaged; remove it") from error

    def _store(self, entry: _Entry) -> None:
        state_dir.write_file(self._path, json.dumps(asdict(entry)))


class MarkFolder:
    """The marks of a state directory's runs."""

    def __init__(self, directory: state_dir.StateDir) -> None:
        self._path = directory.path / "logs"
        self._fed = directory.path / "fed"

    def of(self, key: RunKey) -> Mark:
        """Return the mark of a run; it need not be there."""
        return Mark(self._path / state_dir.run_name(key))

    def note_fed(self, key: RunKey) -> None:
        """Remember that a run has got all of its input."""
        (self._fed / state_dir.run_name(key)).touch(mode=0o600)

    def is_fed(self, key: RunKey) -> bool:
        """Return whether a run was noted to have got all of its input."""
        return (self._fed / state_dir.run_name(key)).exists()

    def names(self) -> frozenset[str]:
        """Return the names of all runs that have a mark or are noted as fed."""
        folders = (self._path, self._fed)
        return frozenset(path.name for each in folders for path in each.iterdir() if not state_dir.is_scrap(path))

    def remove(self, key: RunKey) -> None:
        """Remove the marks of a run, if there are any."""
        self._remove(state_dir.run_name(key))

    def remove_others(self, names: frozenset[str], keys: frozenset[RunKey]) -> None:
        """Remove the marks in `names` that belong to none of `keys`, which must hold the runs of all kinds."""
        for name in names - {state_dir.run_name(key) for key in keys}:
            self._remove(name)

    def _remove(self, name: str) -> None:
        for folder in (self._path, self._fed):
            (folder / name).unlink(missing_ok=True)
