"""A runtime whose calls do nothing, and answer at once: a resource is VALID once an action has run with its config."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench.throughput.noop import NoopRun, NoopRuntime
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.runtime import port

_INIT = {"state_action": {"args": ["state"]}, "tinkwell": {"protocol": 1, "destroy_action": {"args": ["destroy"]}}}
_STALE = {"status": "STALE", "actions": [{"name": "make", "args": ["make"]}]}


@dataclass(frozen=True, slots=True)
class AnsweringRun(NoopRun):
    """A run with an answer."""

    said: bytes = b""

    async def answer(self) -> bytes:
        """Answer."""
        return self.said


@dataclass(frozen=True, slots=True)
class AnsweringRuntime(NoopRuntime):
    """Keeps the configs of what actions have made, by release, chart and name."""

    is_local: bool = True
    _made: dict[tuple[str, str, str], Any] = field(default_factory=dict)

    def workspace(self, key: RunKey) -> str:
        """Return any folder."""
        return "/workspace"

    async def start(self, spec: port.RunSpec, may_begin: Callable[[], bool] = port.always) -> port.Run:
        """Return a run of this key that has ended, with its answer."""
        said = json.dumps(self._perform(spec)).encode()
        run = AnsweringRun(spec.key, spec.image, self._there, said=said)
        self._there[spec.key] = run
        await run.kill()
        return run

    def _perform(self, spec: port.RunSpec) -> dict[str, Any]:
        given = json.loads(spec.stdin or b"{}")
        resource = spec.key.owner, given.get("chart_path", ""), given["name"]
        match spec.command:
            case None:
                return _INIT
            case ("state",):
                is_valid = self._made.get(resource) == given["config"]
                return {"status": "VALID", "state": {}} if is_valid else _STALE
            case ("make",):
                self._made[resource] = given["config"]
            case _:
                self._made.pop(resource, None)
        return {}
