"""Where runs write down what they do: the image that makes them do so, and what they have written."""

import fcntl
import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).parents[2]


class Journal:
    """The folder of a run's journal and locks, beside a folder of images for the process runtime."""

    def __init__(self, directory: Path) -> None:
        self.images = directory / "images"
        self.folder = directory / "effects"

    def create(self, image: str, script: Path) -> None:
        """Make the folders, and an image that runs the script, with the folder as its first argument."""
        self.folder.mkdir()
        entry_point = self.images / image / "run"
        entry_point.parent.mkdir(parents=True)
        # Without site packages, and found by its package's name: it starts within some 20 ms.
        command = shlex.join((sys.executable, "-P", "-S", str(script), str(self.folder)))
        path = shlex.quote(str(_TESTS))
        entry_point.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {command} "$@"\n')
        entry_point.chmod(0o700)

    def lines(self) -> list[list[Any]]:
        """Read all lines, in the order in which they were written."""
        path = self.folder / "journal"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def locked(self, prefix: str) -> Iterator[str]:
        """Yield what follows the prefix in the names that somebody alive has locked."""
        for path in sorted(self.folder.glob(f"{prefix}*")):
            if is_locked(path):
                yield path.name.removeprefix(prefix)


def is_locked(path: Path) -> bool:
    """Whether somebody alive has locked a file, which need not be there."""
    try:
        lock = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
