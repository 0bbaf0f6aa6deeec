"""What the scripts of actions write down while a run goes on: lines of a journal, and locks that die with them.

Scripts are run thousands of times, so this imports the standard library alone, and little of that.
"""

import fcntl
import json
import os


class Marks:
    """The journal and the locks in a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._journal = os.open(f"{folder}/journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, *line: object) -> None:
        """Add a line to the journal."""
        # One write to a file that is open for appending: lines of several runs never mix.
        os.write(self._journal, (json.dumps(line) + "\n").encode())

    def lock(self, name: str) -> bool:
        """Lock a name until this process dies, which the kernel sees to; False where somebody else has locked it."""
        try:
            fcntl.flock(os.open(f"{self._folder}/{name}", os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
