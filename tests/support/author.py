"""Types of resources as their authors write them: a folder with `run` and the kit, and what its calls say."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
KIT = ROOT / "client" / "tinkwell" / "resource" / "kit.py"
TEMPLATE = ROOT / "provisioner" / "tinkwell" / "provisioner" / "resource" / "template.py"
EXAMPLES = ROOT / "examples" / "resources"
SECONDS = 60
HEAD = """#!/usr/bin/env python3
import sys
from dataclasses import dataclass, field
from typing import Any, Literal, Optional
from kit import *
from kit import Action, Plug, Resource, action, difference, fail, run
"""


@dataclass(frozen=True)
class Said:
    """What a call said, and how it ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def answer(self) -> Any:
        """The answer of a call that went well: one JSON document."""
        assert self.code == 0, self.stderr
        return json.loads(self.stdout)

    @property
    def mistake(self) -> str:
        """The one sentence of a call that has failed."""
        assert (self.code, self.stdout) == (1, ""), self.stderr
        (sentence,) = self.stderr.splitlines()
        return sentence


class Type:
    """A type in a folder; its calls are told `protocol` unless that is left out, and its plug `files` is a folder."""

    def __init__(self, folder: Path, source: str = "", *, text: str = "") -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        if not (folder / "kit.py").exists():
            (folder / "kit.py").write_text(KIT.read_text())
        if source or text:
            (folder / "run").write_text(text or HEAD + source)
            (folder / "run").chmod(0o755)
        self.files = folder / "plug"
        self.files.mkdir(exist_ok=True)

    def call(
        self, *words: str, config: Any = None, protocol: bool = True, stdin: str | None = None, **more: Any
    ) -> Said:
        """Make a call; a config of None is left out."""
        told = {"name": "it", "type": "acme/it", "version": "18.0.0", "verbose": False, "workspace": str(self.folder)}
        given: dict[str, Any] = {**told, **({"protocol": 1} if protocol else {}), **more}
        if config is not None:
            given["config"] = config
        done = subprocess.run(
            [sys.executable, "-B", self.folder / "run", *words],
            input=json.dumps(given) if stdin is None else stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**os.environ, "TINKWELL_PLUG_FILES": str(self.files)},
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)
