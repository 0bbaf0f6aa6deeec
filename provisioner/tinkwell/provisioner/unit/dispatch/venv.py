"""Virtual environments of charms: one for each charm and Python, which all units of the charm on this machine share.

    FOLDER/KEY             complete: an environment, or only a file `packed` where the charm's own is good
    FOLDER/KEY.scrap       one that is not finished
    FOLDER/python/python3  this machine's Python, for charms that bring their packages with them

A charm's own `venv` is used if its packages can be imported by this Python. Otherwise one is built of what the charm's
source asks for (see `requirement`), and takes its place: the unit's `venv` becomes a link to it. The programs that are
built run strangers' code, as charms do, with the environment of `building` and nothing else of the agent's.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tinkwell.provisioner.runtime.process import shim
from tinkwell.provisioner.runtime.process.account import Account
from tinkwell.provisioner.unit.dispatch import program, requirement

BUILD_SECONDS = 900.0
IMPORT_SECONDS = 60.0
_MAX_ERROR = 700
_PACKED, _CONSTRAINTS, _SCRAP = "packed", "constraints.txt", ".scrap"
# What a build may know of where packages come from.
_PASSED = re.compile(
    r"PIP_\w+|(?:HTTPS?|NO|ALL)_PROXY|(?:https?|no|all)_proxy|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE"
)
_VERSION = re.compile(r"(?:python3\.|cpython-3)(\d+)")


class Unbuildable(Exception):
    """There is no environment for a charm; the text says why, and what to do."""


@dataclass(slots=True)
class Venvs:
    """The environments of a machine's charms. `account` is whom builds run as; None for the agent's own."""

    folder: Path
    account: Account | None = None
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def ready(self, charm: Path, digest: str) -> Path:
        """Return the folder with the Python that a unit's charm is to run with. Raises `Unbuildable` and `OSError`.

        The first one who asks waits for the build, and so does who asks meanwhile. What has failed is tried anew.
        """
        if not await asyncio.to_thread(program.needs_packages, charm):
            return await asyncio.to_thread(self._plain)
        path = self.folder / _key(digest)
        async with self._locks.setdefault(path.name, asyncio.Lock()):
            if not await asyncio.to_thread(path.is_dir):
                await self._make(charm, path)
        return await asyncio.to_thread(self._use, charm, path)

    def sweep(self, digests: Iterable[str]) -> None:
        """Remove what is not finished, and environments of charms that no unit here has. Raises `OSError`."""
        kept = {_key(digest) for digest in digests} | {"python"}
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.name not in kept:
                shutil.rmtree(path, ignore_errors=True)

    async def _make(self, charm: Path, path: Path) -> None:
        scrap = path.with_name(path.name + _SCRAP)
        await asyncio.to_thread(self._prepare, scrap)
        try:
            own = await asyncio.to_thread(_packed, charm)
            if own and await self._imports(charm):
                await asyncio.to_thread((scrap / _PACKED).touch)
            else:
                async with asyncio.timeout(BUILD_SECONDS):
                    await self._build(charm, scrap, is_packed=bool(own))
                await asyncio.to_thread(_settle, scrap, path)
            await asyncio.to_thread(scrap.rename, path)
        except TimeoutError:
            raise Unbuildable(f"its Python environment was not built within {BUILD_SECONDS:,.0f} s") from None
        finally:
            await asyncio.to_thread(shutil.rmtree, scrap, ignore_errors=True)

    def _prepare(self, scrap: Path) -> None:
        shutil.rmtree(scrap, ignore_errors=True)
        self._plain()
        scrap.mkdir(mode=0o755)
        if self.account is not None:
            os.chown(scrap, self.account.uid, self.account.gid)

    async def _imports(self, charm: Path) -> bool:
        """Say whether this Python can import the framework from the charm's own packages."""
        paths = [str(path) for path in _packages(charm / program.VENV)]
        code, _ = await self._run(
            [_python(), "-I", "-c", f"import sys; sys.path[:0] = {paths!r}; import yaml, ops"], charm, IMPORT_SECONDS
        )
        return code == 0

    async def _build(self, charm: Path, scrap: Path, *, is_packed: bool) -> None:
        try:
            wanted = await asyncio.to_thread(requirement.find, charm)
        except requirement.Unreadable as error:
            raise Unbuildable(f"its Python environment cannot be built: {error}") from error
        if not wanted.arguments:
            raise Unbuildable(_nothing_to_build(charm, is_packed=is_packed))
        constraints = []
        if wanted.constraints:
            await asyncio.to_thread((scrap / _CONSTRAINTS).write_text, wanted.constraints)
            constraints = ["-c", str(scrap / _CONSTRAINTS)]
        pip = ["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-warn-script-location"]
        made = str(scrap / "bin/python3")
        for argv in (
            [_python(), "-I", "-m", "venv", str(scrap)],
            [made, *pip, *constraints, *wanted.arguments],
            [made, "-I", "-c", "import ops"],
        ):
            code, said = await self._run(argv, charm, BUILD_SECONDS)
            if code:
                raise Unbuildable(f"its Python environment cannot be built: {said or f'exit {code}'}")

    async def _run(self, argv: Sequence[str], folder: Path, seconds: float) -> tuple[int, str]:
        """Run a program to its end, and return its code and the end of what it said."""
        with tempfile.TemporaryFile() as said:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=folder,
                env=building(os.environ),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                process_group=0,
                user=None if self.account is None else self.account.uid,
                group=None if self.account is None else self.account.gid,
                extra_groups=None if self.account is None else self.account.groups,
            )
            try:
                async with asyncio.timeout(seconds):
                    code = await process.wait()
            except TimeoutError:
                return 1, f"it took longer than {seconds:,.0f} s"
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
            return code, await asyncio.to_thread(_tail, said.fileno())

    def _use(self, charm: Path, path: Path) -> Path:
        """Have a unit's charm use the environment, and return where its Python is."""
        if (path / _PACKED).exists():
            return self._plain()
        link = charm / program.VENV
        if not link.is_symlink() or link.readlink() != path:
            if link.is_symlink():
                link.unlink()
            elif link.exists():
                shutil.rmtree(link)
            link.symlink_to(path)
        return path / "bin"

    def _plain(self) -> Path:
        """Make the folder with this machine's Python, under the names by which programs call it."""
        folder = self.folder / "python"
        for each in (self.folder, folder):
            each.mkdir(mode=0o755, parents=True, exist_ok=True)
        for name in ("python3", "python"):
            link = folder / name
            if not link.is_symlink() or str(link.readlink()) != _python():
                link.unlink(missing_ok=True)
                link.symlink_to(_python())
        return folder


def building(environment: Mapping[str, str]) -> dict[str, str]:
    """Choose what a build may have of the agent's environment: where packages come from, and how to get there."""
    passed = {name: value for name, value in environment.items() if _PASSED.fullmatch(name)}
    return {"PATH": environment.get("PATH", shim.DEFAULT_PATH), "HOME": str(Path.home()), "LANG": "C.UTF-8", **passed}


def _key(digest: str) -> str:
    """Name the environment of a charm for this Python."""
    return f"{digest.rpartition(':')[2][:32]}-{sys.implementation.cache_tag}"


def _python() -> str:
    """Return the interpreter that this one is a copy of, without what is installed beside it."""
    return os.path.realpath(sys.executable)


def _packed(charm: Path) -> bool:
    """Say whether the charm brings its packages with it."""
    path = charm / program.VENV
    return path.is_dir() and not path.is_symlink()


def _packages(venv: Path) -> list[Path]:
    """Return where packages are in a charm's own environment: a plain folder of them, or one with a Python."""
    return [venv / f"lib/python3.{sys.version_info.minor}/site-packages", venv]


def _nothing_to_build(charm: Path, *, is_packed: bool) -> str:
    here = f"Python 3.{sys.version_info.minor}"
    if not is_packed:
        return "it says nowhere which packages it needs: write ops into a requirements.txt, and pack it again"
    found = {int(match[1]) for path in (charm / program.VENV).rglob("*") if (match := _VERSION.search(path.name))}
    theirs = f"is for Python 3.{min(found)}" if found and sys.version_info.minor not in found else "cannot be imported"
    return (
        f"its packed venv {theirs}, this machine runs {here}, and there is no requirements.txt or pyproject.toml to "
        "build another one from: pack it for this Python, or with one of them"
    )


def _settle(scrap: Path, path: Path) -> None:
    """Have the programs of an environment know the place where it will be."""
    before, after = os.fsencode(scrap), os.fsencode(path)
    for each in (*(scrap / "bin").iterdir(), scrap / "pyvenv.cfg"):
        if each.is_file() and not each.is_symlink():
            content = each.read_bytes()
            if before in content and b"\0" not in content:
                each.write_bytes(content.replace(before, after))


def _tail(file: int) -> str:
    """Return the end of what a program has said."""
    size = os.lseek(file, 0, os.SEEK_END)
    text = os.pread(file, _MAX_ERROR, max(0, size - _MAX_ERROR)).decode(errors="replace")
    return " ".join(text.split())
