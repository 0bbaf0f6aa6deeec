"""Pushing many machines by the real command on a terminal."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.command_line import CommandLine


def machine(number: int, **more: object) -> dict[str, Any]:
    dhcp = {"mac": f"52:54:00:00:{number // 256:02x}:{number % 256:02x}"}
    return {"id": f"5f0c1c3e-8a54-4b7e-9a53-{number:012d}", "network": {"interfaces": [{"dhcp": dhcp}]}, **more}


def _start(cli: CommandLine, path: Path, **streams: Any) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", "from tinkwell.cli.main import main; main()", "hardware", "push", str(path)]
    environment = os.environ | {"TINKWELL_SERVER": cli.fake.address, "TERM": "xterm", "COLUMNS": "100"}
    return subprocess.Popen(command, env=environment, **streams)


def test_a_terminal_sees_a_bar_and_standard_output_only_the_result(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text("".join(f"{json.dumps(machine(number))}\n" for number in range(250)))
    terminal, end = pty.openpty()
    process = _start(cli, tmp_path / "m.jsonl", stdout=subprocess.PIPE, stderr=end)
    os.close(end)
    printed, _ = process.communicate(timeout=30)
    shown = os.read(terminal, 65_536).decode()
    os.close(terminal)
    assert printed == b"250 machines pushed, 250 of them changed, revision 250\n"
    assert "Pushing machines" in shown
    assert "/250" in shown
