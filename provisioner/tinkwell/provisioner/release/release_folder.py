"""The folders that resources of a release keep files in, and when they go: with the release, once they are empty."""

import contextlib
from pathlib import Path


def forget(folder: Path) -> None:
    """Remove the folder of a release, but for what its resources have left in it."""
    with contextlib.suppress(OSError):  # it is not there, or cannot be looked into
        for each in list(folder.iterdir()):
            with contextlib.suppress(OSError):  # it is not empty, or no folder
                each.rmdir()
        folder.rmdir()
