"""The image of every resource: a file that holds a text, and a journal of all that is done with it.

Run with `FOLDER [CALL]`, and the protocol's document on stdin. Its config:

    content            the text that the file is to hold; the state says what it holds
    looks              the seconds that it takes to ask for the state
    settles            it is VALID only so many seconds after it was written
    actions            a list of {seconds, first_good_attempt}; attempts below that one end with exit code 1. The last
                       one writes the file, as the last thing that it does
    destroy_seconds    the seconds that the removal takes

    FOLDER/journal                   a line of JSON for each mark, in the order in which they were written
    FOLDER/thing-RELEASE.PATH        the file; the path is that of the resource, with its chart's
    FOLDER/lock-RELEASE.PATH         locked while a call is alive that may change the file: the kernel unlocks it when
                                     that dies
    FOLDER/holder-RELEASE.PATH       which call that is, or was
"""

import json
import os
import sys
import time
from typing import Any

from support.chaos.mark import Marks

_INIT = {
    "state_action": {"args": ["state"]},
    "tinkwell": {
        "protocol": 1,
        "destroy_action": {"args": ["destroy"]},
        "retry": {"attempts": 20, "delay_seconds": 1},
        "readiness": {"poll_seconds": 1},
    },
}


class Call:
    """One call of the image."""

    def __init__(self, folder: str, name: str, given: dict[str, Any]) -> None:
        self._folder = folder
        self._name = name
        self._config = given["config"]
        chart = given.get("chart_path")
        path = f"{chart}:{given['name']}" if chart else given["name"]
        self._thing = f"{given['release']}.{path}"
        self._marks = Marks(folder)
        # The workspace is STATE_DIR/runs/STEP.ATTEMPT/workspace.
        parts = given["workspace"].split("/")
        self._run = parts[-2]
        step_id, _, attempt = self._run.rpartition(".")
        self._attempt = int(attempt)
        self._who = (given["release"], path, given["operation_id"], step_id, self._attempt, name)
        self._engine = parts[-4]

    def run(self) -> int:
        """Run; returns the exit code."""
        if self._name == "state":
            return self._look()
        is_alone = self._marks.lock(f"lock-{self._thing}")
        holder = f"{self._folder}/holder-{self._thing}"
        self._write("begin")
        if not is_alone:
            self._write("same resource", None, _read(holder) or "")
        _replace(holder, self._run)
        exit_code = self._destroy() if self._name == "destroy" else self._act()
        self._write("end", exit_code)
        return exit_code

    def _look(self) -> int:
        time.sleep(self._config["looks"])
        path = self._path
        found = _read(path)
        is_settled = found is not None and time.time() - os.stat(path).st_mtime >= self._config["settles"]  # noqa: PTH116
        names = [f"act-{number}" for number, _ in enumerate(self._config["actions"], 1)]
        stale = {"status": "STALE", "actions": [{"name": name, "args": [name]} for name in names]}
        answer: dict[str, Any]
        if found is None:
            said, answer = "ABSENT", stale
        elif found == self._config["content"] and is_settled:
            said, answer = "VALID", {"status": "VALID", "state": {"content": found}}
        else:
            said, answer = "STALE", stale | {"staleState": {"content": found}}
        self._write("said", None, said)
        print(json.dumps(answer))
        return 0

    def _act(self) -> int:
        actions = self._config["actions"]
        number = int(self._name.removeprefix("act-"))
        action = actions[number - 1]
        print(f"{self._name} takes {action['seconds']} s")
        time.sleep(action["seconds"])
        if self._attempt < action["first_good_attempt"]:
            return 1
        if number == len(actions):
            _replace(self._path, self._config["content"])
        return 0

    def _destroy(self) -> int:
        time.sleep(self._config["destroy_seconds"])
        if os.path.exists(self._path):  # noqa: PTH110
            os.unlink(self._path)  # noqa: PTH108
        return 0

    @property
    def _path(self) -> str:
        return f"{self._folder}/thing-{self._thing}"

    def _write(self, mark: str, exit_code: int | None = None, said: str = "") -> None:
        self._marks.write(mark, *self._who, self._engine, time.time(), exit_code, said)


def main(folder: str, name: str = "init") -> int:
    """Answer a call; returns the exit code."""
    given = json.load(sys.stdin)
    if name == "init":
        print(json.dumps(_INIT))
        return 0
    return Call(folder, name, given).run()


def _read(path: str) -> str | None:
    try:
        with open(path) as file:  # noqa: PTH123  (pathlib would double the start-up time)
            return file.read()
    except FileNotFoundError:
        return None


def _replace(path: str, text: str) -> None:
    """Write a file that others see whole."""
    unfinished = f"{path}~{os.getpid()}"
    with open(unfinished, "w") as file:  # noqa: PTH123
        file.write(text)
    os.replace(unfinished, path)  # noqa: PTH105


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
