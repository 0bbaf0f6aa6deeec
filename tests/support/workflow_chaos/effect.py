"""The script of every action: writes down that it runs, takes its time, and ends as planned.

Run as `python -I -S effect.py FOLDER SECONDS FIRST_GOOD_ATTEMPT`; attempts below that one end with exit code 1. It
imports the standard library alone, and little of that.

    FOLDER/journal             a line of JSON for each mark, in the order in which they were written
    FOLDER/action-ACTION       locked while a run of the action is alive: the kernel unlocks it when the run dies,
    FOLDER/machine-MACHINE     and so with any run on the machine
"""

import fcntl
import json
import os
import sys
import time


def main(folder: str, seconds: str, first_good_attempt: str) -> int:
    """Run; returns the exit code."""
    names = ("WORKFLOW_ID", "ACTION_ID", "ATTEMPT", "WORKER_ID")
    workflow_id, action_id, attempt, worker_id = (os.environ[f"TINKWELL_{name}"] for name in names)
    journal = os.open(f"{folder}/journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(mark: str, **more: int) -> None:
        line = [mark, workflow_id, action_id, int(attempt), worker_id, time.time(), *more.values()]
        # One write to a file that is open for appending: lines of several runs never mix.
        os.write(journal, (json.dumps(line) + "\n").encode())

    is_alone = _lock(f"{folder}/action-{action_id}")
    is_alone_there = _lock(f"{folder}/machine-{worker_id}")
    write("begin")
    if not is_alone:
        write("same action")
    if not is_alone_there:
        write("same machine")
    os.write(1, f"attempt {attempt} takes {seconds} s\n".encode())
    time.sleep(float(seconds))
    exit_code = int(int(attempt) < int(first_good_attempt))
    write("end", exit_code=exit_code)
    return exit_code


def _lock(path: str) -> bool:
    """Lock a file until this process dies; False where somebody else has locked it."""
    try:
        fcntl.flock(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
