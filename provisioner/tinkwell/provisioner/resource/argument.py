"""What the argument of `tinkwell resource test` means: a folder here, or an image."""

import difflib
import os
from pathlib import Path
from typing import NoReturn

from tinkwell.core import errors
from tinkwell.provisioner.runtime.process import image_folder


def find_folder(text: str) -> Path | None:
    """Return the folder that is meant; None where it is an image.

    Raises `errors.InvalidField` for a path at which there is no folder, or one without a program.
    """
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise _wrong(f"{text} is no path: {error}") from error
    if path.is_dir():
        _check_program(path)
        return path.resolve()
    if path.exists():
        raise _wrong(f"{text} is a file; give the folder that it is in, {path.parent}")
    if text.startswith((".", "/", "~")):
        _miss(text, path)
    # An image with a tag may be called by the path of the folder that it was built from.
    is_tagged = ":" in path.name or "@" in path.name
    if len(path.parts) > 1 and path.parent.is_dir() and not is_tagged:
        _miss(text, path, f"; an image has its tag here, as in {text}:latest")
    return None


def _miss(text: str, path: Path, other: str = "") -> NoReturn:
    """Refuse a path at which nothing is, and name the folder beside it that is nearly called so."""
    there = [each.name for each in path.parent.iterdir() if each.is_dir()] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, there, n=1)
    hint = f"; did you mean {path.with_name(near[0])}?" if near else other
    raise _wrong(f"there is no folder {text}{hint}")


def _check_program(folder: Path) -> None:
    files = [folder / name for name in image_folder.ENTRY_POINTS if (folder / name).is_file()]
    if not files:
        raise _wrong(f"{folder} has no file named run; a type of resources is a folder with one, which is executable")
    if not any(os.access(file, os.X_OK) for file in files):
        raise _wrong(f"{files[0]} is not executable; say chmod +x {files[0]}")


def _wrong(sentence: str) -> errors.InvalidField:
    return errors.InvalidField.of("", sentence)
