"""Runs the program of one rule: no shell, the event on standard input, and nothing but a few variables around it.

Its output goes to the automation's own standard error. It leads a process group, all of which is killed when it takes
too long, or when it has ended.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
from typing import IO

from tinkwell.provisioner.automation.effect import attempt
from tinkwell.provisioner.automation.rule import evaluation, expression, model

_INHERITED = ("PATH", "HOME", "LANG", "TZ")


class Program:
    """Runs the program for the effects of one rule."""

    def __init__(self, action: model.RunCommand, evaluator: evaluation.Evaluator) -> None:
        self._action = action
        self._evaluator = evaluator

    async def attempt(self, effect: model.Effect) -> attempt.Attempt:
        """Run it once. Its standard input is a file, so that it need not read it."""
        try:
            arguments = await self._evaluator.texts(self._action.arguments, effect.event)
        except expression.ExpressionError as error:
            return attempt.hopeless(str(error))
        event = json.dumps(effect.event.to_json()).encode()
        stdin = await asyncio.to_thread(_file_of, event)
        try:
            process = await asyncio.create_subprocess_exec(
                self._action.program,
                *arguments,
                stdin=stdin,
                stdout=sys.stderr.fileno(),
                stderr=sys.stderr.fileno(),
                env=self._environment(effect),
                start_new_session=True,
            )
        except OSError as error:
            return attempt.failed(f"{self._action.program} cannot be started: {error}")
        except ValueError as error:
            # An argument holds what no argument can.
            return attempt.hopeless(f"{self._action.program} cannot be started: {error}")
        finally:
            stdin.close()
        try:
            async with asyncio.timeout(self._action.timeout_seconds):
                code = await process.wait()
        except TimeoutError:
            return attempt.failed(f"did not end within {self._action.timeout_seconds:g} s")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        return attempt.done("exited with code 0") if code == 0 else attempt.failed(f"exited with code {code}")

    async def close(self) -> None:
        """Nothing is held between effects."""

    def _environment(self, effect: model.Effect) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return inherited | {
            **self._action.environment,
            "TINKWELL_IDEMPOTENCY_KEY": effect.key,
            "TINKWELL_RULE": effect.rule.name,
            "TINKWELL_EVENT_ID": effect.event.id,
            "TINKWELL_EVENT_NAME": effect.event.name,
        }


def _file_of(content: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115  (whoever asked for it closes it)
    file.write(content)
    file.seek(0)
    return file
