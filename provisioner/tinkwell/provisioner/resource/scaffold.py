"""Writes the folder of a new type of resources."""

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinkwell.core import errors
from tinkwell.core.value import parse
from tinkwell.provisioner.resource import template

KIT = "kit.py"
_PART = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_NAME = re.compile(rf"{_PART}(?:/{_PART})*")


@dataclass(frozen=True, slots=True)
class Made:
    """The files that were written, and commands to go on with."""

    files: Sequence[Path]
    commands: Sequence[str]


def write(name: str, folder: Path | None = None) -> Made:
    """Write the type of this name into a folder, by itself one of its name, which is made where it is missing.

    Raises `errors.InvalidField` for a name that no image can have, and where a file is there already; then nothing is
    written.
    """
    if not _NAME.fullmatch(name):
        message = (
            f"{parse.show(name)} cannot be the name of an image; write it as acme/note, in small letters and digits"
        )
        raise errors.InvalidField.of("name", message)
    target = Path(name) if folder is None else folder
    texts = {file: _fill(text, name, target) for file, text in template.FILES.items()}
    texts[KIT] = kit()
    if there := [str(target / file) for file in texts if (target / file).exists() or (target / file).is_symlink()]:
        message = f"{', '.join(there)} would be written over; choose another folder, or move that away"
        raise errors.InvalidField.of("DIR", message)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            with (target / file).open("x", encoding="utf-8") as opened:
                opened.write(text)
            if file in template.EXECUTABLE:
                (target / file).chmod(0o755)
    except OSError as error:
        raise errors.InvalidField.of("DIR", f"{target} cannot be written: {error.strerror}") from error
    return Made([target / file for file in texts], _commands(name, target))


def kit() -> str:
    """Return the text of the kit, which is the same file for everybody."""
    found = importlib.util.find_spec("tinkwell.resource.kit")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).read_text(encoding="utf-8")


def _fill(text: str, name: str, folder: Path) -> str:
    last = name.rpartition("/")[2]
    words = {
        "%NAME%": name,
        "%LAST%": re.sub(r"[._]+", "-", last),
        "%CLASS%": "".join(
            word.capitalize() for word in re.split(r"[._-]+", f"my-{last}" if last[0].isdigit() else last)
        ),
        "%DIR%": str(folder),
        "%IMAGES%": _images(name, folder),
    }
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text


def _images(name: str, folder: Path) -> str:
    """Return the folder in which another one is the image of a name, or what stands for one."""
    parts = Path(name).parts
    whole = folder if folder.parts[-len(parts) :] == parts else None
    return str(whole.parents[len(parts) - 1]) if whole is not None else "IMAGES"


def _commands(name: str, folder: Path) -> Sequence[str]:
    lines = _fill(template.README, name, folder).split("```\n")
    return [line for line in lines[1].splitlines() if line]
