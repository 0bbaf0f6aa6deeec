"""What a fork server runs: it loads ops once, and then becomes a charm's program as often as it is asked to.

    prepare FOLDER SCRIPT MODULES               ─▶ ready, or unfit WHY
    fork FOLDER SCRIPT MODULES NAME=VALUE …     ─▶ child PID, which waits at its gate; or unfit, stale or failed WHY
    status PID                                  ─▶ ended CODE, which is -SIGNAL of who was killed; or alive
    reap PID                                    ─▶ done; until then the number is the child's

It is run by the charm's Python, as the charm's account, in an environment that a charm's program has, too. It imports
nothing of ours, and little beside what ops loads, since all that is there is there in each child. Requests come by a
socket of packets, their parts with a NUL between them. Before each is a number, which its answer has, too; with a fork
come the child's outputs and its gate, and that has none of them but its outputs. The server ends when nobody has the
other side of the socket any more.

A child is as a process that has just been started with the program: its path, `__main__`, arguments, environment,
streams and seeds are new. What it shares with its siblings is the seed of hashes of texts, and the process it came of.
"""

import _socket
import contextlib
import gc
import importlib
import importlib.machinery
import os
import signal
import sys
import time

# Of these one packet has less: the system takes no longer environments of a start, either.
MAX_BYTES = 160 * 1024
_SOL_SOCKET, _SCM_RIGHTS = _socket.SOL_SOCKET, _socket.SCM_RIGHTS
_HANDLE_BYTES = 4
_MAX_HANDLES = 3
# The shell that stands before each program of a charm sets them.
_OF_SHELL = ("PWD", "OLDPWD", "SHLVL", "_")
# What a start would load first, if it were there.
_CUSTOM = ("sitecustomize", "usercustomize")
_BUILT_IN = ("built-in", "frozen")
_ENDINGS = ("", "py", "pyc", "so")
_MAX_SAID = 1_000


class Unfit(Exception):
    """Children of a unit would not be as programs that are started; the text says why."""


class Stale(Exception):
    """Children of no unit would be that; the text says why."""


class Program:
    """A program of a charm: its folder, its name there, and the charm's own places of modules."""

    def __init__(self, folder: bytes, script: bytes, modules: bytes) -> None:
        self.folder = os.fsdecode(folder)
        self.script = os.fsdecode(script)
        self._modules = [each for each in os.fsdecode(modules).split(":") if each]

    @property
    def file(self) -> str:
        """Its file, as the interpreter names it."""
        return os.path.join(self.folder, self.script)  # noqa: PTH118

    @property
    def path(self) -> "list[str]":
        """Where modules are looked for before all others; none of it where there is no program."""
        if not self.script:
            return []
        places = (os.path.abspath(os.path.join(self.folder, each)) for each in self._modules)  # noqa: PTH100, PTH118
        return [os.path.dirname(os.path.realpath(self.file)), *dict.fromkeys(places)]  # noqa: PTH120


class Child:
    """What a child is to become: its program, environment, outputs, and the gate that it waits at."""

    def __init__(self, parts: "list[bytes]", handles: "list[int]") -> None:
        self.program = Program(*parts[:3])
        self.environment = dict(os.fsdecode(variable).split("=", 1) for variable in parts[3:])
        self.out, self.err, self.gate = handles

    def close(self) -> None:
        """Close its handles."""
        for handle in (self.out, self.err, self.gate):
            os.close(handle)


class Loaded:
    """What is loaded, where it was found, and whether it is still the same there."""

    def __init__(self) -> None:
        self._places: dict[str, list[str]] = {each: [] for each in _CUSTOM}
        self._files: dict[str, tuple[int, int, int]] = {}
        library = os.path.dirname(os.__file__)  # noqa: PTH120
        for name, module in sorted(sys.modules.items()):
            spec = getattr(module, "__spec__", None)
            if spec is None or spec.origin in _BUILT_IN:
                continue
            file = getattr(module, "__file__", None)
            self._places.setdefault(name.partition(".")[0], []).extend([file] if file else module.__path__)
            if file and (not file.startswith(library) or "-packages" in file):
                self._files[file] = _state(file)
        # These stand for all of the library, which is as large as it is seldom replaced.
        for file in (os.path.realpath(sys.executable), os.__file__):
            self._files[file] = _state(file)
        self._first = {entry: _first(entry) for entry in sys.path if entry.endswith("-packages")}

    def check(self, program: Program) -> None:
        """Raise `Unfit` or `Stale` where a start of the program would load something else, or have no threads."""
        if len(os.listdir("/proc/self/task")) != 1:  # noqa: PTH208
            raise Stale("it has threads")
        for file, state in self._files.items():
            if _state(file) != state:
                raise Stale(f"{file} is another one than was loaded")
        for entry, files in self._first.items():
            if _first(entry) != files:
                raise Stale(f"what a start loads first of {entry} has changed")
        left = dict(self._places)
        for entry in program.path:
            for name in left.keys() & _modules(entry):
                if not any(place.startswith(f"{entry}/") for place in left.pop(name)):
                    raise Unfit(f"{entry} has a module {name} of its own")


class Server:
    """Answers requests. `base` is where modules are looked for after the charm's own places."""

    def __init__(self, connection: int) -> None:
        self._pipe = _socket.socket(fileno=connection)
        # The first place is that of this program.
        self.base = sys.path[1:]
        self._loaded: Loaded | None = None
        self._released: list[int] = []

    def run(self) -> "Child | None":
        """Return in each child what that is to become, and None when there is nobody to ask any more."""
        while True:
            content, ancillary, _, _ = self._pipe.recvmsg(MAX_BYTES, _socket.CMSG_SPACE(_MAX_HANDLES * _HANDLE_BYTES))
            if not content:
                return None
            number, what, *parts = content.split(b"\0")
            if what == b"fork":
                child = Child(parts, [handle for _, _, data in ancillary for handle in _handles(data)])
                answer = self._fork(child)
                if answer is None:
                    self._pipe.close()
                    return child
                child.close()
            elif what == b"prepare":
                answer = self._prepare(Program(*parts))
            elif what == b"status":
                answer = _status(int(parts[0]))
            else:
                answer = self._reap(int(parts[0]))
            self._pipe.send(b"\0".join((number, *answer)))

    def _prepare(self, program: Program) -> "tuple[bytes, ...]":
        """Load ops as the program would, and remember what that has brought."""
        sys.path[:] = [*program.path, *self.base]
        try:
            importlib.import_module("ops")
        except BaseException as error:
            return b"unfit", _encode(f"ops cannot be loaded: {type(error).__name__}: {error}")
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self._loaded = Loaded()
        gc.freeze()
        return (b"ready",)

    def _fork(self, child: Child) -> "tuple[bytes, ...] | None":
        """Return the answer, which is None in the child."""
        assert self._loaded is not None
        try:
            self._loaded.check(child.program)
            pid = os.fork()
        except Unfit as error:
            return b"unfit", _encode(error)
        except Stale as error:
            return b"stale", _encode(error)
        except OSError as error:
            return b"failed", _encode(f"it cannot fork: {error}")
        if not pid:
            return None
        with contextlib.suppress(OSError):  # it has done that itself, or is dead
            os.setpgid(pid, pid)
        return b"child", b"%d" % pid

    def _reap(self, pid: int) -> "tuple[bytes, ...]":
        """Reap all that are dead of those that nobody asks for any more."""
        self._released = [each for each in (*self._released, pid) if not os.waitpid(each, os.WNOHANG)[0]]
        return (b"done",)


def _status(pid: int) -> "tuple[bytes, ...]":
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return (b"alive",)
    return b"ended", b"%d" % (ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)


def _encode(said: object) -> bytes:
    return str(said).replace("\0", " ").encode(errors="replace")[:_MAX_SAID]


def _handles(data: bytes) -> "list[int]":
    return [
        int.from_bytes(data[at : at + _HANDLE_BYTES], sys.byteorder)
        for at in range(0, len(data) - len(data) % _HANDLE_BYTES, _HANDLE_BYTES)
    ]


def _state(file: str) -> "tuple[int, int, int]":
    try:
        found = os.stat(file)  # noqa: PTH116
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns


def _first(entry: str) -> "dict[str, tuple[int, int, int]]":
    """Return the states of what each start loads of a folder of packages, before the program."""
    try:
        names = os.listdir(entry)  # noqa: PTH208
    except OSError:
        return {}
    found = [each for each in names if each.endswith(".pth") or each.partition(".")[0] in _CUSTOM]
    return {each: _state(f"{entry}/{each}") for each in found}


def _modules(entry: str) -> "set[str]":
    """Return the names of what could be modules in a folder."""
    try:
        names = [name.partition(".") for name in os.listdir(entry)]  # noqa: PTH208
    except OSError:
        return set()
    return {name for name, _, rest in names if rest.rpartition(".")[2] in _ENDINGS}


def become(child: Child, base: "list[str]") -> "dict[str, object]":
    """Wait at the gate, become as a process that was started for the program, and return the names of `__main__`."""
    os.setpgid(0, 0)
    if not os.read(child.gate, 1):
        os._exit(0)  # whoever has asked for it does not want it any more
    os.dup2(child.out, 1)
    os.dup2(child.err, 2)
    child.close()
    program = child.program
    os.chdir(program.folder)
    of_shell = {name: os.environ[name] for name in _OF_SHELL if name in os.environ}
    if "PWD" in of_shell:
        of_shell["PWD"] = program.folder
    os.environ.clear()
    os.environ.update(of_shell | child.environment)
    first, *others = program.path
    sys.path[:] = [first, *others, *(each for each in base if each not in others)]
    sys.argv[:] = [program.script]
    sys.orig_argv[:] = [sys.orig_argv[0], program.script]
    importlib.invalidate_caches()
    if (logging := sys.modules.get("logging")) is not None:
        vars(logging)["_startTime"] = time.time()  # what records count their time from
    main = type(sys)("__main__")
    sys.modules["__main__"] = main
    names = vars(main)
    names["__loader__"] = importlib.machinery.SourceFileLoader("__main__", program.file)
    names.update(__annotations__={}, __builtins__=sys.modules["builtins"], __file__=program.file, __cached__=None)
    return names


def fail(error: BaseException) -> int:
    """Say of an error what the interpreter says of one that nobody has handled, and return the exit code."""
    # The first frame of it is not the charm's.
    trace = None if error.__traceback__ is None else error.__traceback__.tb_next
    error = error.with_traceback(trace)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    try:
        sys.excepthook(type(error), error, trace)
    except SystemExit:
        raise
    except BaseException as second:
        sys.stderr.write("Error in sys.excepthook:\n")
        # Nor is the first frame of this one.
        inner = None if second.__traceback__ is None else second.__traceback__.tb_next
        sys.__excepthook__(type(second), second.with_traceback(inner), inner)
        sys.stderr.write("\nOriginal exception was:\n")
        sys.__excepthook__(type(error), error, trace)
    if isinstance(error, KeyboardInterrupt):
        importlib.import_module("atexit").register(_interrupt)
    return 1


def _interrupt() -> None:
    """End as who was interrupted does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    server = Server(int(sys.argv[1]))
    if (wanted := server.run()) is not None:
        scope, problem = become(wanted, server.base), None
        try:
            with open(wanted.program.file, "rb") as source:  # noqa: PTH123
                text = source.read()
            exec(compile(text, wanted.program.file, "exec", dont_inherit=True), scope)  # noqa: S102
        except SystemExit:
            raise
        except BaseException as error:
            problem = error
        if problem is not None:
            sys.exit(fail(problem))
