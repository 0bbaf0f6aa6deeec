"""Puts the tools where scripts find them: a folder with one program, and a link to it under each tool's name."""

import os
import sys
import uuid
from collections.abc import Iterable
from pathlib import Path

from tinkwell.provisioner.runtime.process.account import Account
from tinkwell.provisioner.unit.tool import program
from tinkwell.provisioner.unit.warm import program as server

PROGRAM, SERVER = "tool.py", "fork_server.py"
_MAX_LINE_BYTES = 255


def check_account(account: Account) -> None:
    """Raise `OSError` if the account of the charms' programs cannot run tools."""
    if not account.can_enter(Path(os.path.realpath(sys.executable))):
        raise OSError(
            f"the account {account.name} of --process-user cannot run tools by {os.path.realpath(sys.executable)}: "
            "install Python where it can"
        )


def install(folder: Path, names: Iterable[str]) -> None:
    """Make the folder, or bring it up to date while scripts may be using it. Raises `OSError`.

    The program is run by this interpreter, without what is installed beside it, so that it begins quickly.
    """
    line = f"#!{os.path.realpath(sys.executable)} -IS\n"
    if " " in line.removesuffix(" -IS\n") or len(os.fsencode(line)) > _MAX_LINE_BYTES:
        raise OSError(f"scripts cannot call tools by {sys.executable}: install Python at a shorter path without spaces")
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    folder.chmod(0o755)
    _write(folder / PROGRAM, line + Path(program.__file__).read_text("utf-8"), 0o755)
    for name in names:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(PROGRAM)


def install_server(folder: Path) -> Path:
    """Put the program of fork servers beside the tools, where charms do not find it by its name. Raises `OSError`."""
    path = folder / SERVER
    _write(path, Path(server.__file__).read_text("utf-8"), 0o644)
    return path


def _write(path: Path, text: str, mode: int) -> None:
    scrap = path.with_name(f".{uuid.uuid4().hex}")
    scrap.write_text(text, "utf-8")
    scrap.chmod(mode)
    scrap.replace(path)
