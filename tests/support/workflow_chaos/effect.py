"""The script of every action: writes down that it runs, takes its time, and ends as planned.

Run with `FOLDER SECONDS FIRST_GOOD_ATTEMPT`; attempts below that one end with exit code 1.

    FOLDER/journal             a line of JSON for each mark, in the order in which they were written
    FOLDER/action-ACTION       locked while a run of the action is alive: the kernel unlocks it when the run dies,
    FOLDER/machine-MACHINE     and so with any run on the machine
"""

import os
import sys
import time

from support.chaos.mark import Marks


def main(folder: str, seconds: str, first_good_attempt: str) -> int:
    """Run; returns the exit code."""
    names = ("WORKFLOW_ID", "ACTION_ID", "ATTEMPT", "WORKER_ID")
    workflow_id, action_id, attempt, worker_id = (os.environ[f"TINKWELL_{name}"] for name in names)
    marks = Marks(folder)

    def write(mark: str, **more: int) -> None:
        marks.write(mark, workflow_id, action_id, int(attempt), worker_id, time.time(), *more.values())

    is_alone = marks.lock(f"action-{action_id}")
    is_alone_there = marks.lock(f"machine-{worker_id}")
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


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
