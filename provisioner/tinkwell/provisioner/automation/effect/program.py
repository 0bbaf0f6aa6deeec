"""Runs the program of one rule: no shell, the event on standard input, and nothing but a few variables around it.

Its output goes to the automation's own standard error. When it takes too long, or has ended, all that it has started is
killed: a supervisor sees to that, whatever sessions and groups the program makes for itself.
"""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from typing import IO

from tinkwell.provisioner.automation.effect import attempt
from tinkwell.provisioner.automation.rule import evaluation, expression, model
from tinkwell.provisioner.runtime.process import supervisor
from tinkwell.sandbox import secrecy

_INHERITED = ("PATH", "HOME", "LANG", "TZ")
# A supervisor takes somewhat less, unless somebody has stopped it.
_END_SECONDS = 10


class Program:
    """Runs the program for the effects of one rule."""

    def __init__(self, action: model.RunCommand, evaluator: evaluation.Evaluator) -> None:
        self._action = action
        self._evaluator = evaluator

    async def attempt(self, effect: model.Effect) -> attempt.Attempt:
        """Run it once. Its standard input is a file, so that it need not read it."""
        # A program could read our environment, in which secrets of other rules may be.
        secrecy.hide()
        try:
            arguments = await self._evaluator.texts(self._action.arguments, effect.event)
        except expression.ExpressionError as error:
            return attempt.hopeless(str(error))
        event = json.dumps(effect.event.to_json()).encode()
        stdin = await asyncio.to_thread(_file_of, event)
        try:
            process = await asyncio.create_subprocess_exec(
                *supervisor.command("leash", self._action.program, *arguments),
                stdin=stdin,
                stdout=asyncio.subprocess.PIPE,
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
                said = (await process.communicate())[0]
        except TimeoutError:
            return attempt.failed(f"did not end within {self._action.timeout_seconds:g} s")
        finally:
            await _end(process)
        if said:
            return attempt.failed(f"{self._action.program} cannot be started: {said.decode(errors='replace')}")
        code = process.returncode
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


async def _end(process: asyncio.subprocess.Process) -> None:
    """Have the supervisor end, and the program with it; reads what is left in the pipe, which would stay open."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_END_SECONDS):
            await process.communicate()
    except TimeoutError:
        process.kill()
        await process.communicate()


def _file_of(content: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115  (whoever asked for it closes it)
    file.write(content)
    file.seek(0)
    return file
