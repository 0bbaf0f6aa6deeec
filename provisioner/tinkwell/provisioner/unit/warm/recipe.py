"""Says how a known dispatch begins its charm's program, so that a fork of a server may stand for it.

Known are what charmcraft writes, in its two forms, and the start that is ours where a charm has no dispatch. What looks
otherwise may do anything before it begins Python, and so is started.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tinkwell.provisioner.unit.dispatch import program

_MAX_BYTES = 4_096
_SHELL, _PYTHON = "#!/bin/sh", b"#!/usr/bin/env python3\n"
_PLAIN = re.compile(
    r'JUJU_DISPATCH_PATH="\$\{JUJU_DISPATCH_PATH:-\$0\}" PYTHONPATH=(?P<modules>[\w.:/-]+) '
    r"exec (?P<script>\./[\w./-]+\.py)"
)
_WHOLE = re.compile(
    r'dispatch_path="\$\(dirname \$\(realpath \$0\)\)" '
    r'python_path="\$\{dispatch_path\}/venv/bin/python" '
    r'if \[ ! -e "\$\{python_path\}" \]; then '
    r'(?:mkdir -p "\$\{dispatch_path\}/venv/bin" )?'
    r'ln -s \$\(which python3\) "\$\{python_path\}" fi '
    r'export PYTHONPATH="\$\{dispatch_path\}/lib:\$\{dispatch_path\}/src" '
    r'export LD_LIBRARY_PATH="\$\{dispatch_path\}/usr/lib:\$\{dispatch_path\}/lib:'
    r'\$\{dispatch_path\}/usr/lib/\$\(uname -m\)-linux-gnu" '
    r'exec "\$\{python_path\}" "\$\{dispatch_path\}/(?P<script>[\w./-]+\.py)"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Which Python runs which program, both as they are named there, in which folder, and what is set for it.

    `modules` are the charm's own places of modules. `is_own` where packages are in the unit's folder, so that no other
    unit's program may be forked of the same process.
    """

    folder: str
    python: str
    script: str
    modules: str
    variables: Mapping[str, str] = field(default_factory=dict)
    is_own: bool


def find(charm: Path, argv: Sequence[str]) -> Recipe | None:
    """Find how a program of a charm begins; None if it cannot be forked and must be started. Raises `OSError`."""
    folder = os.path.realpath(charm)
    is_own = not (charm / program.VENV).is_symlink()
    if list(argv) == ["python3", program.ENTRY]:
        return Recipe(folder=folder, python=argv[0], script=argv[1], modules=program.MODULES, is_own=is_own)
    if list(argv) != [str(charm / program.DISPATCH)]:
        return None
    text = _read(charm / program.DISPATCH)
    if match := _PLAIN.fullmatch(text):
        script, modules = match["script"], match["modules"]
        if not _is_started_by_python(charm / script):
            return None
        variables = {"PYTHONPATH": modules}
        return Recipe(
            folder=folder, python="python3", script=script, modules=modules, variables=variables, is_own=is_own
        )
    return _whole(folder, match["script"]) if (match := _WHOLE.fullmatch(text.replace("\n", " "))) else None


def _whole(folder: str, script: str) -> Recipe | None:
    """Make the recipe of a dispatch that has whole paths, and the packages' Python."""
    python = f"{folder}/{program.VENV}/bin/python"
    if not Path(python).exists() or not Path(folder, script).is_file():
        return None
    modules = f"{folder}/lib:{folder}/src"
    libraries = f"{folder}/usr/lib:{folder}/lib:{folder}/usr/lib/{os.uname().machine}-linux-gnu"
    return Recipe(
        folder=folder,
        python=python,
        script=f"{folder}/{script}",
        modules=modules,
        variables={"PYTHONPATH": modules, "LD_LIBRARY_PATH": libraries},
        is_own=True,
    )


def _read(dispatch: Path) -> str:
    """Return the commands of a script of the shell, one in each line, without comments; empty where it is none."""
    first, *lines = _head(dispatch).decode(errors="replace").split("\n")
    if first.strip() != _SHELL:
        return ""
    commands = "\n".join(_without_comments(lines)).replace("\\\n", "").split("\n")
    return "\n".join(" ".join(each.split()) for each in commands if each.strip())


def _without_comments(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that are no comments; a backslash at its end does not carry a comment on."""
    is_continued = False
    for line in lines:
        if is_continued or not line.lstrip().startswith("#"):
            is_continued = line.endswith("\\")
            yield line


def _head(path: Path) -> bytes:
    """Return how a file begins. A charm may have put something there that is waited at: of that it is nothing."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        return file.read(_MAX_BYTES) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""


def _is_started_by_python(script: Path) -> bool:
    if not script.is_file() or not os.access(script, os.X_OK):
        return False
    return _head(script).startswith(_PYTHON)
