"""A program that is forked finds all as one that is started does, and ends as it does."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from unit.provisioner.unit.warm.stage import PLAIN, WHOLE, Stage, environment

from tinkwell.provisioner.unit import script as scripts
from tinkwell.provisioner.unit.script import Ending

# What is written down of a process, each as an expression, for both to be held against each other.
LOOK = """
import os, resource, signal, stat, sys, locale, gc, atexit, warnings, random, logging, threading, traceback, time, json
import subprocess

def stream(name):
    found = getattr(sys, name)
    return [found.name, found.mode, found.encoding, found.errors, found.line_buffering, found.isatty(),
            found.seekable(), found.fileno(), stat.S_IFMT(os.fstat(found.fileno()).st_mode)]

def handle(number):
    path = os.readlink(f"/proc/self/fd/{number}")
    return path.partition(":")[0]

known = sorted(subprocess.run(["/usr/bin/env"], stdout=subprocess.PIPE, text=True).stdout.split("\\n"))
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
main = sys.modules["__main__"]
names = {name: repr(value) for name, value in vars(main).items() if name.startswith("__")}
names["__loader__"] = [type(main.__loader__).__name__, main.__loader__.name, main.__loader__.path]
found = {
    "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "flags": repr(sys.flags), "names": names,
    "executable": [sys.executable, sys.prefix, sys.base_prefix], "environment": dict(os.environ),
    "libc": [os.getenv("JUJU_DISPATCH_PATH"), known], "cwd": os.getcwd(),
    "files": {each: handle(each) for each in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{each}")},
    "streams": [stream(each) for each in ("stdin", "stdout", "stderr")], "stdin": sys.stdin.read(),
    "signals": {number: repr(signal.getsignal(number)) for number in range(1, 65) if number not in (32, 33)},
    "masks": [status[each] for each in ("SigPnd", "SigBlk", "SigIgn", "SigCgt")],
    "rights": [status[each] for each in ("CapEff", "NoNewPrivs", "Groups", "Uid", "Gid")],
    "group": os.getpgid(0) == os.getpid(), "session": os.getsid(0), "umask": status["Umask"], "nice": os.nice(0),
    "limits": [resource.getrlimit(each) for each in range(16)], "cgroup": open("/proc/self/cgroup").read(),
    "oom": open("/proc/self/oom_score_adj").read(), "locale": locale.setlocale(locale.LC_ALL),
    "logging": [logging.root.level, repr(logging.root.handlers), logging.lastResort.level],
    "young": time.time() - logging._startTime < 300, "warnings": [repr(each) for each in warnings.filters],
    "threads": [each.name for each in threading.enumerate()], "tasks": len(os.listdir("/proc/self/task")),
    "gc": [gc.isenabled(), gc.get_threshold()], "atexit": atexit._ncallbacks(), "limit": sys.getrecursionlimit(),
    "hooks": [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, repr(threading.excepthook)],
    "modules": sorted(sys.modules), "here": [__name__, __file__, traceback.extract_stack()[-1].filename],
    "finders": [getattr(each, "__name__", type(each).__name__) for each in sys.meta_path],
    "random": random.random(), "switch": sys.getswitchinterval(),
}
print(json.dumps(found, sort_keys=True))
"""

# What the fork server needs, and a Python does not load by itself.
OF_SERVER = frozenset(
    ["_socket", "array", *(f"importlib{name}" for name in ("", "._bootstrap", "._bootstrap_external", ".machinery"))]
)


async def _look(stage: Stage, *, is_warm: bool) -> dict[str, Any]:
    stage.lines.clear()
    ending = await stage.run(stage.script(is_warm=is_warm, environment={"JUJU_UNIT_NAME": "wéb/0", "EMPTY": ""}))
    assert ending == Ending(), stage.lines
    ((stream, line),) = stage.lines
    assert stream == "STDOUT"
    found: dict[str, Any] = json.loads(line)
    return found


@pytest.mark.parametrize(
    "dispatch, is_shared", [(PLAIN, False), (WHOLE, False), (PLAIN, True)], ids=["plain", "whole", "shared"]
)
async def test_a_program_finds_the_same(tmp_path: Path, dispatch: str, is_shared: bool) -> None:
    shared = environment(tmp_path / "shared") if is_shared else None
    stage = Stage(tmp_path, LOOK, dispatch=dispatch, shared=shared)
    cold = await _look(stage, is_warm=False)
    async with stage.serving():
        first, second = [await _look(stage, is_warm=True) for _ in range(2)]
    more = set(first.pop("modules")) ^ set(cold.pop("modules"))
    assert more <= OF_SERVER
    assert len({found.pop("random") for found in (cold, first, second)}) == 3
    second.pop("modules")
    assert first == cold
    assert second == cold


# Programs that end in their own way, with what is heard of each, if that is to be the same.
ENDS = {
    "success": "print('done')",
    "an error": "def f():\n    1 / 0\ntry:\n    f()\nexcept ZeroDivisionError as e:\n    raise KeyError('x') from e",
    "not Python": "print('never')\n)",
    "an exit": "import sys\nsys.exit(3)",
    "an exit that says why": "import sys\nsys.exit('because')",
    "a system's exit": "import os\nprint('lost')\nos._exit(4)",
    "an interrupt": "raise KeyboardInterrupt",
    "a hook of its own": "import sys\nsys.excepthook = lambda *a: print('heard', a[0], flush=True)\nraise ValueError",
    "a hook that fails": "import sys\nsys.excepthook = lambda *a: 1 / 0\nraise ValueError('first')",
    "a hook that exits": "import sys\nsys.excepthook = lambda *a: sys.exit(6)\nraise ValueError('first')",
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "an abort": "import os\nos.close(2)\nos.abort()",
    "its own group": "import os, signal\nos.killpg(0, signal.SIGKILL)",
    "threads": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()",
    "at its exit": "import atexit\natexit.register(print, 'bye')\nraise ValueError",
    "a thread that fails": "import threading\nthreading.Thread(target=lambda: 1 / 0, name='t').start()",
    "closed files": "import os\nos.closerange(0, 256)",
    "a daemon": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(30)",
    "a warning": "import warnings\nwarnings.warn('old', DeprecationWarning)\nwarnings.warn('bad')",
    "a log line": "import logging\nlogging.warning('mind')\nlogging.info('not')",
    "a long line": "import os\nos.write(1, b'x' * 300_000)",
    "no text": "import os\nos.write(1, b'\\xff\\x00' * 100 + b'\\n')",
    "standard input": "input()",
    "a module of its own": "import helper\nprint(helper.__file__, helper.value)",
    "pickles": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__module__)",
    "its own child": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import os; print(os.getcwd())'])",
    "multiprocessing": (
        "import multiprocessing\ndef f(): print('child', flush=True)\nif __name__ == '__main__':\n"
        "    child = multiprocessing.get_context('spawn').Process(target=f)\n    child.start()\n    child.join()"
    ),
}
STUBBORN = """\
#!/usr/bin/env python3
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    made = Stage(tmp_path_factory.mktemp("stage"))
    (made.charm / "lib/helper.py").write_text("value = 7\n")
    return made


async def test_programs_end_the_same(stage: Stage) -> None:
    heard = dict[str, dict[bool, object]]()
    async with stage.serving():
        for name, text in ENDS.items():
            stage.write("src/charm.py", f"#!/usr/bin/env python3\n{text}\n")
            for is_warm in (False, True):
                stage.lines.clear()
                ending = await stage.run(stage.script(is_warm=is_warm))
                heard.setdefault(name, {})[is_warm] = (ending, sorted(stage.lines))
        assert stage.server is not None
    for name, each in heard.items():
        assert each[True] == each[False], name
    assert heard["an error"][True] != heard["success"][True]


@pytest.mark.parametrize("is_warm", [False, True], ids=["cold", "warm"])
async def test_who_ignores_being_asked_to_end_is_killed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, is_warm: bool
) -> None:
    stage.write("src/charm.py", STUBBORN)
    monkeypatch.setattr(scripts, "TERM_SECONDS", 0.2)
    stage.stop = asyncio.Event()
    async with stage.serving():
        ending = await stage.run(stage.script(is_warm=is_warm))
    assert ending == Ending(signal=9, is_stopped=True)
