"""A provisioner as a process of its own."""

import subprocess
import sys

HIDDEN = """
import ctypes
from unittest import mock
from tinkwell.provisioner.app import commands, main
with mock.patch.object(main, "start", lambda settings: print("dumpable", ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))):
    commands.provisioner(["--server", "localhost:1"])
"""


def test_a_provisioner_s_environment_and_memory_are_closed_to_its_own_account() -> None:
    found = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout == "dumpable 0\n"
