"""An agent for a charm that keeps a file of SQLite as ops does, and dies by SIGKILL at a point of its work."""

import asyncio
import enum
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

from support import mortal_agent
from support.unit_server import UNIT_ID, UnitServer
from tinkwell.client.unit.agent.outcome import Outcome, OutcomeFolder
from tinkwell.core.charm.package import NewFile
from tinkwell.provisioner.unit.state.state_file import NAME, StateFile

EVENTS = ["install", "config-changed", "start", "update-status", "stop"]
# It commits its file first, as ops does, and only what it has told the agent lands with the event.
HOOK = """#!/usr/bin/env python3
import os, signal, sqlite3, subprocess, time

name, point = os.environ["JUJU_HOOK_NAME"], "{point}" if os.environ["JUJU_HOOK_NAME"] == "{fatal}" else ""

def die(here):
    if here == point and not os.path.exists("{folder}/fatal"):
        os.mkdir("{folder}/fatal")
        os.kill(int(open("{folder}/agent").read()), signal.SIGKILL)
        time.sleep(600)

database = sqlite3.connect(".unit-state.db", isolation_level=None)
database.execute("PRAGMA cache_size = 1")
database.execute("CREATE TABLE IF NOT EXISTS heard (name TEXT, filling BLOB)")
database.execute("BEGIN EXCLUSIVE")
# So much that SQLite writes to the file, and a journal beside it, before it commits.
database.executemany("INSERT INTO heard VALUES (?, zeroblob(4000))", [(name,)] * 20)
count = database.execute("SELECT count(*) FROM heard").fetchone()[0]
subprocess.run(["state-set", f"count={{count}}"], check=True)
die("before SQLite's commit")
database.execute("COMMIT")
die("after SQLite's commit")
database.close()
"""


class Point(enum.StrEnum):
    """Where an agent dies."""

    BEFORE_SQLITE = "before SQLite's commit"
    AFTER_SQLITE = "after SQLite's commit"
    BEFORE_NOTE = "before an attempt is noted"
    AFTER_NOTE = "after an attempt is noted"
    BEFORE_OUTCOME = "before the outcome file"
    AFTER_OUTCOME = "after the outcome file"
    COMMIT = "after the commit, before its answer"
    ANSWER = "after the commit's answer"
    KEPT = "after the file is kept"


def server(folder: Path, point: str = "", fatal: str = "") -> UnitServer:
    """Make the server of a round, or find it as it was left."""
    made = UnitServer(EVENTS, {}, path=folder / "server")
    if not (folder / "server").exists():
        text = HOOK.format(folder=folder, point=point, fatal=fatal).encode()
        manifest = NewFile("metadata.yaml", b"name: web\nsummary: a\ndescription: b\n")
        made.deploy([manifest, *(NewFile(f"hooks/{name}", text, True) for name in EVENTS)])
    return made


def rows(folder: Path) -> list[str]:
    """Return what the charm's file says that it has heard."""
    path = folder / "units/units" / UNIT_ID / "charm" / NAME
    database = sqlite3.connect(path)
    try:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [name for (name,) in database.execute("SELECT DISTINCT name FROM heard ORDER BY rowid")]
    finally:
        database.close()


def die(folder: Path, point: Point, event: str) -> None:
    """Be an agent until it dies at a point of an event; for a process of its own."""
    (folder / "agent").write_text(str(os.getpid()))
    made = server(folder, point, event)
    number = EVENTS.index(event)
    match point:
        case Point.BEFORE_NOTE | Point.AFTER_NOTE:
            _kill_around(StateFile, "begin", lambda _, attempt_id, __: int(attempt_id) == number, point)
        case Point.BEFORE_OUTCOME | Point.AFTER_OUTCOME:
            _kill_around(OutcomeFolder, "keep", lambda _, outcome: _is(outcome, number), point)
        case Point.ANSWER | Point.KEPT:
            _kill_around(StateFile, "keep", lambda _: made.state.done == number + 1, point)
        case Point.COMMIT:
            mortal_agent.kill_after(made, "commit", lambda: made.state.done == number + 1)
        case Point.BEFORE_SQLITE | Point.AFTER_SQLITE:
            pass
    asyncio.run(mortal_agent.live(made, folder))


def _is(outcome: Outcome, number: int) -> bool:
    return int(outcome.event_id) == number


def _kill_around(kind: type, name: str, is_time: Any, point: Point) -> None:
    """Die before or after a method, when it is time."""
    original = getattr(kind, name)
    is_before = point in (Point.BEFORE_NOTE, Point.BEFORE_OUTCOME, Point.ANSWER)

    def called(*arguments: Any) -> Any:
        if is_before and is_time(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        answer = original(*arguments)
        if is_time(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    setattr(kind, name, called)
