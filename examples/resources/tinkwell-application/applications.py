"""The applications of a server, asked by the `tinkwell` command.

Commands are told nothing secret by their arguments: the token is in their environment, and a configuration on their
standard input.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Optional

from kit import fail

ALIVE = "ALIVE"
ACTIVE, SETTLED = "active", "settled"
ERROR, SETUP = "error", "setup"
# Of several units, that of which the status is first here is the one to tell of.
_URGENT = (ERROR, SETUP, "blocked", "waiting", "maintenance", "unknown", ACTIVE)
_POLL_SECONDS = 1.0


class Server:
    """A server, a namespace of it, and who asks."""

    def __init__(self, address: str, token: Optional[str], namespace: str) -> None:
        self._environment = {**os.environ, "TINKWELL_SERVER": address}
        if token is not None:
            self._environment["TINKWELL_TOKEN"] = token
        self._where = ("-n", namespace)

    def tell(
        self,
        *arguments: str,
        given: str = "",
        is_shown: bool = True,
        or_else: Callable[[], object] = lambda: None,
    ) -> None:
        """Run a command in the namespace, and show what it prints if it may be shown.

        Where it fails, so does this, unless `or_else` finds what was to be brought about.
        """
        sys.stdout.flush()
        done = self._run(*arguments, *self._where, given=given, is_shown=is_shown)
        if done.returncode and not or_else():
            _give_up(done)

    def ask(self, *arguments: str) -> Any:
        """Run a command, and return the JSON that it prints."""
        done = self._run(*arguments, "-o", "json")
        return json.loads(done.stdout) if done.returncode == 0 else _give_up(done)

    def application(self, name: str) -> Optional[Mapping[str, Any]]:
        """Return an application with its `units` and `relations`; None where there is none of this name."""
        done = self._run("app", "status", name, *self._where, "-o", "json")
        if done.returncode == 0:
            found = json.loads(done.stdout)
            return {**found["applications"][0], "units": found["units"], "relations": found["relations"]}
        if name in [each["name"] for each in self.ask("app", "list", *self._where)]:
            _give_up(done)
        return None

    def wait(self, names: Sequence[str], until: str, seconds: int) -> None:
        """Wait until nothing is due for applications, or until they are active as well; fails by a unit's error.

        What has failed before is tried again first.
        """
        for name in names:
            for unit in (self.application(name) or {"units": ()})["units"]:
                if is_in_error(unit):
                    self._run("unit", "resolve", unit["name"], *self._where, is_shown=True)  # it may be over already
        active = ["--active"] if until == ACTIVE else []
        self.tell("app", "wait", *names, *active, "--timeout", f"{seconds}s")

    def _run(self, *arguments: str, given: str = "", is_shown: bool = False) -> "subprocess.CompletedProcess[str]":
        pipe = None if is_shown else subprocess.PIPE
        return subprocess.run(
            ["tinkwell", *arguments],
            input=given,
            stdout=pipe,
            stderr=pipe,
            text=True,
            env=self._environment,
            check=False,
        )


def is_in_error(unit: Mapping[str, Any]) -> bool:
    """Whether an event of a unit has failed."""
    return (unit.get("event") or {}).get("state") == "ERROR"


def alive(units: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the units that are not being removed, by number."""
    return sorted((each for each in units if each["life"] == ALIVE), key=lambda each: int(each["number"]))


def status(units: Sequence[Mapping[str, Any]], wanted: str) -> str:
    """Return how units are, all in one word: the wanted one, `active` or `settled`, if that is what they are."""
    found = {_status(each) for each in alive(units)}
    worst = next((word for word in _URGENT if word in found), ACTIVE)
    return SETTLED if wanted == SETTLED and worst not in (ERROR, SETUP) else worst


def await_end(what: str, is_there: Callable[[], bool], seconds: int) -> None:
    """Wait until something is gone, and fail where that takes too long."""
    until = time.monotonic() + seconds
    while is_there():
        if time.monotonic() > until:
            fail(f"{what} is not gone within {seconds} s; tinkwell app status shows what its units do")
        time.sleep(_POLL_SECONDS)
    print(f"{what} is gone")


def _status(unit: Mapping[str, Any]) -> str:
    if is_in_error(unit):
        return ERROR
    return SETUP if unit["phase"] in ("WAITING", "SETUP") else str(unit["status"]["name"])


def _give_up(done: "subprocess.CompletedProcess[str]") -> NoReturn:
    if done.stderr:  # else it was shown
        print(done.stderr.strip(), file=sys.stderr)
    sys.exit(done.returncode)
