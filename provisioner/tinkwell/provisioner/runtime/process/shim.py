"""The supervisor of one run: starts its process, keeps its output in files, and writes down how it ended.

Run by `supervisor.command("shim", RUN_DIR)`. It forks. The first process waits until the entry point runs, and exits;
if the entry point cannot be started, it exits with 1 and a sentence on stderr. The second process is detached, so it
outlives the provisioner.

    RUN_DIR/spec.json    read: {"argv": […], "environment": {…}, "directory": "…", "account": [UID, GID, [GID, …]] or
                         null for this one, "stdin": "…", "answer_bytes": N, "max_bytes": N, …}
    RUN_DIR/stdin        the input of the entry point, if it has any; removed as soon as the entry point has it open
    RUN_DIR/workspace    the folder to begin in, if there is no other; it exists already if the run is given files
    RUN_DIR/shim         written first: the name of this process, see `identity`
    RUN_DIR/process      written next, before the entry point begins: the name of its process
    RUN_DIR/output       frames, as `runtime.output` reads them: the first ones, and when the run is over the last ones
    RUN_DIR/answer       stdout, if `answer_bytes` is above 0; the frames are then only of stderr. A process that writes
                         more than `answer_bytes` is killed. If the disk is full, the file is removed
    RUN_DIR/exit         written last, as a whole: {"code": N, "seconds": N}; the code is 128 + the signal if killed

SIGTERM kills the process and all that it has started. When the entry point ends, the run is over, and all processes
that are left of it are killed, also those in sessions and groups of their own; see `offspring`.
"""

import json
import os
import select
import signal
import time
from collections.abc import Callable, Sequence

from tinkwell.provisioner.runtime.process import identity, offspring, spawn
from tinkwell.provisioner.runtime.process.spawn import CHUNK_BYTES, STDERR, STDOUT

SPEC, STDIN, ANSWER, WORKSPACE = "spec.json", "stdin", "answer", "workspace"
# The stream of a frame that says how many lines and bytes were dropped at this place.
GAP = 255
HEADER_BYTES = 8
MAX_LAST_FRAMES = 50_000
STARTED = b"started"
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def main(arguments: Sequence[str]) -> int:
    """Start the run that is described in the directory; return the exit code of the first or the second process."""
    (directory,) = arguments
    os.chdir(directory)
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        message = b"".join(iter(lambda: os.read(reader, CHUNK_BYTES), b""))
        if message == STARTED:
            return 0
        os.write(STDERR, message or b"its supervisor died")
        return 1
    os.close(reader)
    os.setsid()
    _detach()
    try:
        _supervise(directory, writer)
    except (OSError, ValueError) as error:
        os.write(writer, str(error).encode())
    return 0


def _supervise(directory: str, writer: int) -> None:
    """Run the process to its end. Once it has started, write `STARTED` to `writer` and close it."""
    with open(SPEC, "rb") as file:  # noqa: PTH123
        spec = json.load(file)
    if spec["directory"] == WORKSPACE:
        _provide_workspace(spec["account"])
    # The absolute path makes this fail if the folder was moved away to be removed, so that no process begins there.
    _write(f"{directory}/shim", identity.of(os.getpid()))
    offspring.adopt()
    wakeup = spawn.catch_signals()
    (out, out_writer), (err, err_writer) = os.pipe(), os.pipe()
    began = time.monotonic()
    pid = spawn.spawn(
        spec["argv"],
        spec["environment"],
        out=out_writer,
        err=err_writer,
        stdin=spec["stdin"] or "/dev/null",
        directory=spec["directory"],
        account=spec["account"],
        record=lambda pid: _write("process", identity.of(pid)),
    )
    if spec["stdin"]:
        os.unlink(STDIN)  # noqa: PTH108
    os.write(writer, STARTED)
    for descriptor in (writer, out_writer, err_writer):
        os.close(descriptor)
    recorder = _Recorder("output", spec["max_bytes"])
    answer = _Answer(ANSWER, spec["answer_bytes"], pid) if spec["answer_bytes"] else None
    takers: dict[int, Callable[[bytes], None]] = {
        out: answer.take if answer else lambda chunk: recorder.write(STDOUT, chunk),
        err: lambda chunk: recorder.write(STDERR, chunk),
    }
    code = os.waitstatus_to_exitcode(_record(pid, takers, wakeup))
    recorder.finish()
    result = {"code": 128 - code if code < 0 else code, "seconds": round(time.monotonic() - began, 3)}
    _write("exit", json.dumps(result))


def _provide_workspace(account: spawn.Account | None) -> None:
    """Make the workspace, and make the run's account its owner; no other account has access to it."""
    if not os.path.isdir(WORKSPACE):  # noqa: PTH112
        os.mkdir(WORKSPACE, 0o700)  # noqa: PTH102
    if account is not None:
        for path, _, files in os.walk(WORKSPACE):
            for each in (path, *(f"{path}/{name}" for name in files)):
                os.chown(each, account[0], account[1], follow_symlinks=False)


def _record(pid: int, pipes: dict[int, Callable[[bytes], None]], wakeup: int) -> int:
    """Keep the output until the process has ended, kill what it has left, and keep the rest of the pipes.

    Returns the status with which the process ended.
    """
    # The process stays a zombie until it is reaped, so no other process can have its pid or group.
    while not offspring.has_ended(pid):
        for descriptor in select.select([*pipes, wakeup], [], [])[0]:
            if descriptor != wakeup:
                _copy(descriptor, pipes)
            elif signal.SIGTERM in os.read(wakeup, CHUNK_BYTES):
                offspring.kill_child(pid)
    offspring.kill_child(pid)
    status = os.waitpid(pid, 0)[1]
    offspring.end_all()
    while pipes and (ready := select.select([*pipes], [], [], 0)[0]):
        for descriptor in ready:
            _copy(descriptor, pipes)
    return status


def _copy(descriptor: int, pipes: dict[int, Callable[[bytes], None]]) -> None:
    """Read what a pipe holds; close the pipe if all writers have closed it."""
    chunk = os.read(descriptor, CHUNK_BYTES)
    if chunk:
        pipes[descriptor](chunk)
    else:
        os.close(descriptor)
        del pipes[descriptor]


class _Recorder:
    """Writes frames to a file: the first `max_bytes` of them at once, and at the end the last `max_bytes`."""

    def __init__(self, name: str, max_bytes: int) -> None:
        self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._max_bytes = self._room = max_bytes
        self._is_full = self._is_broken = False
        self._last: list[bytes] = []
        self._last_bytes = 0
        self._lines = self._bytes = 0

    def write(self, stream: int, payload: bytes) -> None:
        frame = _frame(stream, payload)
        if self._room >= len(frame) and not self._is_full:
            self._room -= len(frame)
            self._append(frame)
            return
        self._is_full = True
        self._last.append(frame)
        self._last_bytes += len(frame)
        if self._last_bytes > 2 * self._max_bytes or len(self._last) > 2 * MAX_LAST_FRAMES:
            self._leave_out()

    def finish(self) -> None:
        """Write the last frames, when there is no more output."""
        self._leave_out()
        if self._lines or self._bytes:
            self._append(_frame(GAP, self._lines.to_bytes(8, "big") + self._bytes.to_bytes(8, "big")))
        for frame in self._last:
            self._append(frame)

    def _leave_out(self) -> None:
        """Drop the oldest of the last frames. It is called at twice the limit, because it moves all the others."""
        least = max(len(self._last) - MAX_LAST_FRAMES, 0)
        first, kept = len(self._last), 0
        while first > least and kept + len(self._last[first - 1]) <= self._max_bytes:
            first -= 1
            kept += len(self._last[first])
        for frame in self._last[:first]:
            self._lines += frame.count(b"\n", HEADER_BYTES)
            self._bytes += len(frame) - HEADER_BYTES
        del self._last[:first]
        self._last_bytes = kept

    def _append(self, frame: bytes) -> None:
        try:
            while frame and not self._is_broken:
                frame = frame[os.write(self._file, frame) :]
        except OSError:  # The disk is full. The process must not block on its output for that.
            self._is_broken = True  # A part of a frame may be in the file, so no other frame can follow.


def _frame(stream: int, payload: bytes) -> bytes:
    return bytes((stream, 0, 0, 0)) + len(payload).to_bytes(4, "big") + payload


class _Answer:
    """Keeps the answer of a process in a file, and kills the process if it is too long; the rest is dropped."""

    def __init__(self, name: str, max_bytes: int, pid: int) -> None:
        self._name = name
        self._file = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600)
        self._room = max_bytes + 1
        self._pid = pid

    def take(self, chunk: bytes) -> None:
        if not self._room:
            return
        kept = chunk[: self._room]
        self._room -= len(kept)
        try:
            while kept:
                kept = kept[os.write(self._file, kept) :]
        except OSError:  # The disk is full, and a part of an answer is worth nothing.
            self._room = 0
            os.unlink(self._name)  # noqa: PTH108
        if not self._room:
            offspring.kill_child(self._pid)


def _detach() -> None:
    """Close the terminal and the pipes that were inherited."""
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, STDOUT, STDERR):
        os.dup2(null, descriptor)
    os.close(null)


def _write(name: str, text: str) -> None:
    """Write a file so that it is complete as soon as it exists."""
    descriptor = os.open(f"{name}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, text.encode())
    os.close(descriptor)
    os.rename(f"{name}.new", name)  # noqa: PTH104
