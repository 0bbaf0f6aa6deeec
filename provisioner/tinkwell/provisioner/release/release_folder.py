"""The folders in which a release's resources keep files. Empty ones are removed with the release."""

import contextlib
from pathlib import Path


def forget(folder: Path) -> None:
    """Remove the folder of a release, except the files that its resources have left in it."""
    with contextlib.suppress(OSError):  # it is not there, or cannot be looked into
        for each in list(folder.iterdir()):
            with contextlib.suppress(OSError):  # it is not empty, or no folder
                each.rmdir()
        folder.rmdir()
