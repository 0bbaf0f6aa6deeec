"""A resource brought about as Deployster does it, by its own protocol: nothing of what Tinkwell adds is told or taken.

Each call is a process or a container that is told JSON of two spaces, and `init` and `state` answer with one document
of a closed schema. What its engine does beside (manifests, expressions, questions to a person) is left out.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tinkwell.core.release.protocol.schema import Schema

SECONDS = 120
_TEXT = {"type": "string", "minLength": 1}
_CALL = {
    "image": {"type": "string", "pattern": "^[^:]+(?::[^:]+)?$"},
    "entrypoint": _TEXT,
    "args": {"type": "array", "items": {"type": "string"}},
}


def closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """A schema of an object with these properties and no other ones."""
    found = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**found, "required": list(required)} if required else found


_PLUG = closed(
    {"container_path": _TEXT, "optional": {"type": "boolean"}, "writable": {"type": "boolean"}}, "container_path"
)
INIT = Schema.compile(
    closed(
        {
            "plugs": {"type": "object", "patternProperties": {"^[a-zA-Z][a-zA-Z0-9_\\-]*$": _PLUG}},
            "config_schema": {"type": "object"},
            "state_action": closed(_CALL),
        },
        "state_action",
    )
)
_ACTIONS = {"type": "array", "minItems": 1, "items": closed({"name": _TEXT, "description": _TEXT, **_CALL}, "name")}
STATE = Schema.compile(
    {
        "oneOf": [
            closed({"status": {"enum": ["VALID"]}, "state": {"type": "object"}}, "status", "state"),
            closed(
                {"status": {"enum": ["STALE"]}, "staleState": {"type": "object"}, "actions": _ACTIONS},
                "status",
                "actions",
            ),
        ]
    }
)


class Engine(Protocol):
    """Runs an image: returns its exit code and its standard output."""

    def run(self, call: dict[str, Any], told: dict[str, Any], *, has_plugs: bool) -> tuple[int, str]:
        """Make a call, of which `image`, `entrypoint` and `args` may be given."""


@dataclass(frozen=True)
class Docker:
    """Deployster's own way: the command `docker run`, with its folders and plugs as volumes."""

    image: str
    folder: Path
    # Paths of the host by those in containers, which may write to them.
    plugs: dict[str, str] = field(default_factory=dict)

    def run(self, call: dict[str, Any], told: dict[str, Any], *, has_plugs: bool) -> tuple[int, str]:
        """Make a call in a container."""
        volumes = [f"{self.folder}:{self.folder}:ro"]
        volumes += [f"{host}:{path}:rw" for path, host in self.plugs.items()] if has_plugs else []
        entrypoint = ["--entrypoint", call["entrypoint"]] if "entrypoint" in call else []
        command = ["docker", "run", "--rm", "-i", f"--workdir={self.folder}"]
        command += [text for volume in volumes for text in ("--volume", volume)]
        return _run([*command, *entrypoint, call.get("image", self.image), *call.get("args", ())], told)


@dataclass(frozen=True)
class Folder:
    """The same call of a program, for whoever has no engine. A plug is a folder in the environment."""

    image: Path
    plugs: dict[str, str] = field(default_factory=dict)

    def run(self, call: dict[str, Any], told: dict[str, Any], *, has_plugs: bool) -> tuple[int, str]:
        """Make a call as a process."""
        return _run([sys.executable, "-B", str(self.image / "run"), *call.get("args", ())], told, self.plugs)


def _run(command: Sequence[str], told: dict[str, Any], environment: dict[str, str] | None = None) -> tuple[int, str]:
    done = subprocess.run(
        command,
        input=json.dumps(told, indent=2),
        stdout=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    return done.returncode, done.stdout


class Deployster:
    """Deployster 18.0.0, with one resource."""

    def __init__(self, engine: Engine, image: str, workspace: Path) -> None:
        self._engine = engine
        self._told = {
            "name": "it",
            "type": image,
            "version": "18.0.0",
            "verbose": False,
            "workspace": str(workspace),
        }

    def init(self) -> dict[str, Any]:
        """Ask what the image needs."""
        answer = self._answer({}, self._told, has_plugs=False)
        INIT.check("init", answer)
        assert any(answer["state_action"].get(key) for key in _CALL), "it must not equal the init action"
        return answer

    def execute(self, config: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
        """Bring the resource about; returns the names of the actions that were run, and its state."""
        init = self.init()
        Schema.compile(init.get("config_schema", {})).check("config", config)
        told = {**self._told, "config": config}
        state = self._state(init, told)
        done = []
        for action in state.get("actions", ()):
            code, _ = self._engine.run(action, {**told, "staleState": state.get("staleState", {})}, has_plugs=True)
            assert code == 0, f"the container ended with exit code #{code}"
            done.append(action["name"])
        if done:
            state = self._state(init, told)
            assert state["status"] == "VALID", "it was expected to be VALID after applying actions"
        return done, state["state"]

    def _state(self, init: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
        answer = self._answer(init["state_action"], told, has_plugs=True)
        STATE.check("state", answer)
        return answer

    def _answer(self, call: dict[str, Any], told: dict[str, Any], *, has_plugs: bool) -> dict[str, Any]:
        code, printed = self._engine.run(call, told, has_plugs=has_plugs)
        assert code == 0, f"the container ended with exit code #{code}"
        answer: dict[str, Any] = json.loads(printed)
        return answer
