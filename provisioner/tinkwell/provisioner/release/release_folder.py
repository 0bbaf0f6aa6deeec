"""The folders in which a release's resources keep files. Empty ones are removed with the release."""

import contextlib
from pathlib import Path


def forget(folder: Path) -> None:
    """Remove the folder of a release, except the files that its resources have left in it."""
    with contextlib.suppress(OSError):  # the folder is missing or cannot be read
        for each in list(folder.iterdir()):
            with contextlib.suppress(OSError):  # the entry is not empty or is no folder
                each.rmdir()
        folder.rmdir()
