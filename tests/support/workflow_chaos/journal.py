"""Where runs write down what they do: the image that makes them do so, and what they have written."""

import fcntl
import json
import os
import sys
from pathlib import Path

from support.workflow_chaos import effect
from support.workflow_history.record import Effect, Mark

IMAGE = "chaos-effect"


class Journal:
    """The folder of a run's journal, beside a folder of images for the process runtime."""

    def __init__(self, directory: Path) -> None:
        self.images = directory / "images"
        self.folder = directory / "effects"

    def create(self) -> None:
        """Make the folders, and the image."""
        self.folder.mkdir()
        image = self.images / IMAGE
        image.mkdir(parents=True)
        entry_point = image / "run"
        script = Path(effect.__file__)
        entry_point.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{script}" "{self.folder}" "$@"\n')
        entry_point.chmod(0o700)

    def read(self) -> list[Effect]:
        """Read all lines."""
        path = self.folder / "journal"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [Effect(Mark(mark), *rest) for mark, *rest in map(json.loads, lines)]

    def alive(self) -> list[str]:
        """Return the machines on which a run is alive."""
        found = []
        for path in sorted(self.folder.glob("machine-*")):
            lock = os.open(path, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found.append(path.name.removeprefix("machine-"))
            finally:
                os.close(lock)
        return found
