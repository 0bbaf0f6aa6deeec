"""Runs an image's entry point as a process of this machine, for development and for machines without an engine.

It isolates nothing: a run may see and change all that the provisioner may, or the account that runs are started as.
Only the provisioner's memory and environment are hidden from it. An image is a folder,

    IMAGES/<name of the image, without registry, tag and digest>/run        or …/entrypoint

and another entry point is another file of it. Nothing is mounted: a run sees a mount at its source, and volumes are
ignored. A run begins in its `workdir`, else in its first mount, else in a folder that is removed with it. Each run has
its own supervisor, `shim`, which outlives the provisioner and keeps the output, the exit code and the input in files.
So following a run means reading files, and adopting it means reading them again.
"""

import asyncio
import json
import logging
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import abandonable_thread, output, port, workspace
from tinkwell.provisioner.runtime.process import identity, image_folder, offspring, shim, supervisor
from tinkwell.provisioner.runtime.process.account import Account
from tinkwell.provisioner.state_dir import document, state_dir
from tinkwell.sandbox import secrecy

logger = logging.getLogger(__name__)
T = TypeVar("T")

POLL_SECONDS = 0.05
START_SECONDS = 10.0
LATE_SECONDS = 1.0
KILL_SECONDS = 10.0
READ_BYTES = 64 * 1024
# The supervisor keeps up to this many bytes of the beginning of an output, and as many of its end. That is more than a
# reader yields of either, so every reader shortens a long output at the same place.
MAX_KEPT_BYTES = output.MAX_BYTES


class ProcessRuntime:
    """The runtime that starts processes. `images` is the folder that holds the folders of the images.

    With an `account`, runs are started as that account, which only root can do. A run then has no access to the files
    of other runs.
    """

    name = "process"
    engine_id = ""  # Each state directory is an engine of its own.
    is_local = True

    def __init__(
        self, directory: state_dir.StateDir, images: Path | None, *, account: Account | None = None, threads: int = 4
    ) -> None:
        secrecy.hide()  # Runs that are going to be adopted are running already.
        if account is not None:
            directory.let_through()
        self._directory = directory
        self._images = images
        self._account = account
        self._threads = ThreadPoolExecutor(threads, "process-runtime")

    def seen_at(self, mount: port.Mount) -> str:
        """Return where the mount is on this machine."""
        return mount.source

    def workspace(self, key: RunKey) -> str:
        """Return the workspace in the folder of the run."""
        return str(self._directory.run_dir(key) / shim.WORKSPACE)

    async def image_id(self, image: str) -> str:
        """Return a digest of the names, sizes and times of the files in the image's folder."""
        return await _call(self._threads, lambda: image_folder.identity(self._folder(image)))

    async def start(self, spec: port.RunSpec, may_begin: Callable[[], bool] = port.always) -> port.Run:
        """Start the image's entry point."""
        try:
            return await _call(self._threads, lambda: self._start(spec, may_begin))
        except subprocess.SubprocessError as error:
            # The supervisor may still start the process, or may have started it before it died.
            await ProcessRun(spec.key, self._directory.run_dir(spec.key), self._threads).remove()
            raise _refused(error) from error

    async def find(self, key: RunKey) -> port.Run | None:
        """Find a run by its folder."""
        return await _call(self._threads, lambda: self._find(key))

    async def find_former(self, key: RunKey) -> list[port.Run]:
        """Find runs of former attempts by their folders."""
        owned = await self.find_owned(key.kind, key.owner)
        return [run for run in owned if run.key.run == key.run and run.key.attempt < key.attempt]

    async def find_owned(self, kind: RunKind, owner: str) -> list[port.Run]:
        """Find a workflow's or release's runs by their folders."""
        keys = (key for key in await self.held(kind) if key.owner == owner)
        return [ProcessRun(key, self._directory.run_dir(key), self._threads) for key in keys]

    async def held(self, kind: RunKind) -> frozenset[RunKey]:
        """Return the runs that have a folder."""
        keys = await _call(self._threads, lambda: list(_read_keys(self._directory.run_dirs())))
        return frozenset(key for key in keys if key.kind is kind)

    async def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _find(self, key: RunKey) -> "ProcessRun | None":
        path = self._directory.run_dir(key)
        return ProcessRun(key, path, self._threads) if path.is_dir() else None

    def _start(self, spec: port.RunSpec, may_begin: Callable[[], bool]) -> "ProcessRun":
        folder = self._folder(spec.image)
        entry_point = image_folder.entry_point(folder, spec)
        if spec.volumes:
            logger.warning(
                "the process runtime cannot mount volumes; the run begins without them",
                extra={"runtime": self.name, "run": spec.key.run},
            )
        for mount in spec.mounts:
            mount.provide()
            if not Path(mount.source).exists():
                raise port.RunError(port.Reason.SPECIFICATION, f"{mount.source} is to be mounted and is not there")
            if self._account is not None and self._directory.clear_way(Path(mount.source)):
                self._account.give(Path(mount.source))
                document.give(Path(mount.source))
        workspace.check(spec.files)
        path = self._directory.run_dir(spec.key)
        described = _describe(spec, entry_point, path, self._account)
        # Only releases ask for the digest of an image, so the files of other images need not be read.
        if spec.key.kind is RunKind.RELEASE:
            described["image_id"] = image_folder.identity(folder)
        files = {f"{shim.WORKSPACE}/{name}": content for name, content in spec.files.items()}
        files |= {shim.SPEC: json.dumps(described).encode()} | ({} if spec.stdin is None else {shim.STDIN: spec.stdin})
        if self._directory.create_run(spec.key, files):
            if not may_begin():
                state_dir.remove_run(path)
                raise port.forbidden()
            _launch(path)
        return ProcessRun(spec.key, path, self._threads)

    def _folder(self, image: str) -> Path:
        return image_folder.find(self._images, image)


class ProcessRun:
    """A run of the process runtime: a view of its folder."""

    def __init__(self, key: RunKey, path: Path, threads: ThreadPoolExecutor) -> None:
        self.key = key
        self._path = path
        self._threads = threads

    @property
    def image_id(self) -> str:
        """The digest of the image's folder at the start; empty for actions. It reads a small file."""
        try:
            return str(self._read_spec().get("image_id", ""))
        except FileNotFoundError:
            return ""

    async def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        """Yield the output, polling the file."""
        reader = output.OutputReader()
        begin = 0
        while True:
            # This must come before the read: if the supervisor is dead now, all output is in the file.
            is_over = not await _call(self._threads, lambda: self._alive("shim"))
            offset = begin
            chunk = await _call(self._threads, lambda: self._read_output(offset))  # noqa: B023  (ends in this turn)
            begin += len(chunk)
            for line in reader.feed(chunk):
                yield line
            if not chunk and is_over:
                break
            if not chunk:
                await asyncio.sleep(POLL_SECONDS)
        for line in reader.finish():
            yield line

    async def wait(self) -> port.Exit:
        """Wait until the supervisor is dead, and read the exit that it has written."""
        await self._supervisor_death()
        return await _call(self._threads, self._read_exit)

    async def answer(self) -> bytes:
        """Read the answer that the supervisor has kept."""
        return await _call(self._threads, self._read_answer)

    async def was_fed(self) -> bool:
        """Return whether the supervisor has begun: the input is a file, so a run that has begun has all of it."""
        return await _call(self._threads, lambda: bool(self._recorded("shim")))

    async def kill(self) -> None:
        """Kill the process and all that it has started."""
        await _call(self._threads, self._kill)
        try:
            async with asyncio.timeout(KILL_SECONDS):
                await self._supervisor_death()
        except TimeoutError:
            message = f"the process did not die within {KILL_SECONDS:.0f} s"
            raise port.RunError(port.Reason.UNAVAILABLE, message) from None

    async def remove(self) -> None:
        """Remove the folder."""
        await self.kill()
        late = await _call(self._threads, self._take_away)
        if late is not None:
            await late.remove()

    def _take_away(self) -> "ProcessRun | None":
        """Remove the folder, so that no supervisor can begin. Returns the run if one has begun just before that."""
        scrap = state_dir.take_run(self._path)
        if scrap is None:
            return None
        late = ProcessRun(self.key, scrap, self._threads)
        if late._alive("shim"):
            return late
        shutil.rmtree(scrap)
        return None

    async def _supervisor_death(self) -> None:
        handle = await _call(self._threads, lambda: identity.open_handle(self._recorded("shim")))
        if handle is None:
            return
        is_dead = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(handle, is_dead.set)
        try:
            await is_dead.wait()
        finally:
            loop.remove_reader(handle)
            os.close(handle)

    def _read_output(self, begin: int) -> bytes:
        try:
            with (self._path / "output").open("rb") as file:
                file.seek(begin)
                return file.read(READ_BYTES)
        except FileNotFoundError:
            return b""

    def _read_spec(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._path / shim.SPEC).read_bytes())
        return found

    def _read_answer(self) -> bytes:
        try:
            limit = self._read_spec()["answer_bytes"]
            found = (self._path / shim.ANSWER).read_bytes()
        except FileNotFoundError as error:
            message = "its answer is not there: it was not asked for one, or there was no room to keep it"
            raise port.RunError(port.Reason.LOST, message) from error
        if len(found) > limit:
            raise port.RunError(port.Reason.ANSWER, f"it answers with more than {limit:,} bytes")
        return found

    def _read_exit(self) -> port.Exit:
        try:
            found = json.loads((self._path / "exit").read_bytes())
        except FileNotFoundError:
            self._kill()
            raise port.RunError(
                port.Reason.LOST, "the process's supervisor died, so how it ended is not known"
            ) from None
        return port.Exit(code=found["code"], seconds=found["seconds"])

    def _kill(self) -> None:
        """Ask the supervisor to kill the process, or kill what is left of a process that has lost its supervisor."""
        if not identity.send_signal(self._recorded("shim"), signal.SIGTERM):
            offspring.kill_tree(self._recorded("process"))

    def _alive(self, name: str) -> bool:
        return identity.living(self._recorded(name)) != 0

    def _recorded(self, name: str) -> str:
        try:
            return (self._path / name).read_text("ascii")
        except FileNotFoundError:
            return ""


async def _call(threads: ThreadPoolExecutor, function: Callable[[], T]) -> T:
    """Run a blocking function, and raise an error of the file system as a `RunError`."""
    try:
        return await abandonable_thread.run(threads, function)
    except (OSError, state_dir.StateError) as error:
        raise port.RunError(port.Reason.UNAVAILABLE, f"the process runtime cannot use its files: {error}") from error


def _describe(spec: port.RunSpec, entry_point: Path, path: Path, account: Account | None) -> dict[str, Any]:
    """Build the content of `spec.json`: what the supervisor needs, and the whole key of the run."""
    mounted = next((each.source for each in spec.mounts), "")
    directory = spec.workdir or mounted or shim.WORKSPACE
    return {
        "key": asdict(spec.key),
        "argv": [str(entry_point), *(spec.command or ())],
        # Images of this runtime use programs of this machine, from the same PATH as the provisioner.
        "environment": {"PATH": os.environ.get("PATH", shim.DEFAULT_PATH)} | spec.variables(),
        "directory": shim.WORKSPACE if directory == str(path / shim.WORKSPACE) else directory,
        "account": None if account is None else account.numbers,
        "stdin": "" if spec.stdin is None else str(path / shim.STDIN),
        "answer_bytes": spec.answer_bytes,
        "max_bytes": MAX_KEPT_BYTES,
    }


def _read_keys(paths: Iterable[Path]) -> Iterator[RunKey]:
    for path in paths:
        try:
            found = json.loads((path / shim.SPEC).read_bytes())["key"]
            yield RunKey(**found | {"kind": RunKind(found["kind"])})
        except FileNotFoundError:  # Another provisioner with this state directory has just removed the run.
            continue
        except (ValueError, LookupError, TypeError):
            # A power failure can leave such a file. The other runs must be found all the same.
            logger.warning("a folder does not say which run it is of; remove it", extra={"folder": str(path)})


def _refused(error: subprocess.SubprocessError) -> port.RunError:
    if isinstance(error, subprocess.TimeoutExpired):
        message = f"the process's supervisor did not start within {error.timeout:.0f} s"
        return port.RunError(port.Reason.UNAVAILABLE, message)
    return port.RunError(port.Reason.ENTRY_POINT, f"the entry point did not start: {error}")


def _launch(path: Path) -> None:
    """Start the supervisor, which detaches itself, so that it is no child of this process.

    The supervisor gets no environment, because its run could read it. Raises `subprocess.SubprocessError` if the
    supervisor does not confirm that the process has begun; it may have begun all the same.
    """
    command = supervisor.command("shim", str(path))
    try:
        launcher = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={}
        )
    except OSError as error:
        raise port.RunError(port.Reason.UNAVAILABLE, f"the process's supervisor did not start: {error}") from error
    with launcher:
        said = _hear_out(launcher).decode(errors="replace").strip()
    if launcher.returncode:
        raise subprocess.SubprocessError(said)


def _hear_out(launcher: subprocess.Popen[bytes]) -> bytes:
    """Wait for the end of the launcher, and return its stderr; raises `subprocess.TimeoutExpired`."""
    try:
        return launcher.communicate(timeout=START_SECONDS)[1]
    except subprocess.TimeoutExpired as error:
        # If the whole machine was suspended, the launcher has had less time than it seems; it gets a little more.
        try:
            return launcher.communicate(timeout=LATE_SECONDS)[1]
        except subprocess.TimeoutExpired:
            launcher.kill()
            raise error from None
