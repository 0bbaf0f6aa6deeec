"""Sends the output of steps to the server."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tinkwell.client.release.model import StepLogLine
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.runtime import output


class LogsApi(Protocol):
    """The call of the server that sends output."""

    async def append_logs(self, operation_id: str, lines: Iterable[StepLogLine]) -> int:
        """Store output lines; a line that is already stored stays as it is, unless it was open."""


@dataclass(frozen=True, slots=True)
class Sink:
    """Sends the output of one operation's steps to the server."""

    api: LogsApi
    operation_id: str

    async def append(self, key: RunKey, lines: Sequence[output.OutputLine]) -> None:
        """Store lines of a step's attempt."""
        sent = [
            StepLogLine(key.run, key.attempt, line.number, line.text, line.stream, is_open=line.is_open)
            for line in lines
        ]
        await self.api.append_logs(self.operation_id, sent)
