"""Runs the hook of an action that has failed or timed out.

Theory of operation. The outcome has been reported, and nothing in here changes it. This process may die between any two
lines, and the hook is to be run all the same, and never twice. So what is left of the attempt's run marks that its hook
is not done:

    1  kill the attempt's run    it need not have ended: the server may have ended the action by itself
    2  start the hook's run      or take up the one that a predecessor started: its name is the hook's
    3  send its output           numbered from a place of its own on, so that it follows the attempt's
    4  say how it ended          in a last line, which has the last number of all, so that it is said once
    5  remove the attempt's run  from now on the hook is done
    6  remove the hook's run     which a successor removes, too, where it finds it alone

A successor finds the attempt's run and enters at 1. Where there is none, because the action failed before it ran, the
hook is run as well, but not by a successor. A hook that a successor takes up is given its whole time once more.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from dataclasses import replace

from tinkwell.client import errors, retry
from tinkwell.client.workflow.model import LogStream
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.agent import output_shipper, run_spec
from tinkwell.provisioner.runtime import output, port

logger = logging.getLogger(__name__)

# How long a hook may take whose action has no timeout.
DEFAULT_SECONDS = 300.0
# The lines of an attempt, and what is said about them, end here at the latest,
LAST_OF_ATTEMPT = output.MAX_LINES + 2
# and those of its hook, of which there are as many, before this; the server takes no higher number.
LAST_NUMBER = 2 * LAST_OF_ATTEMPT + 1
MAX_MESSAGE_CHARACTERS = 1000


class Hooks:
    """Runs hooks in a runtime."""

    def __init__(self, runtime: port.Runtime) -> None:
        self._runtime = runtime

    async def run(self, work: run_spec.Work, sink: output_shipper.Sink, *, is_first: bool) -> bool:
        """Run a hook to its end, and remove it and its attempt.

        `is_first` says that nobody can have run it before. Else it is done where nothing is left of the attempt. False
        where the runtime does not do what it must: the hook is not done then, and is to be run again later.
        """
        key = work.key
        try:
            attempt = await self._runtime.find(key.main)
            if attempt is None and not is_first:
                await self._remove(key)
                return True
            if attempt is not None:
                await attempt.kill()
            ending = await self._carry_out(work, sink)
            if ending is None:
                return False
            await _tell(key, ending, sink)
            for each in (key.main, key):
                await self._remove(each)
        except port.RunError as error:
            logger.warning("a hook is not done; it is tried again", extra=run_spec.fields(key) | {"cause": str(error)})
            return False
        return True

    async def _carry_out(self, work: run_spec.Work, sink: output_shipper.Sink) -> str | None:
        """Run the hook, and say how it ended; None, or `RunError`, where that is not known for the time being."""
        limit = float(work.timeout_seconds) or DEFAULT_SECONDS
        deadline = asyncio.get_running_loop().time() + limit
        logger.info("a hook begins", extra=run_spec.fields(work.key) | {"image": work.run.image})
        try:
            async with asyncio.timeout_at(deadline):
                run = await self._runtime.start(work.run)
        except TimeoutError:
            return f"did not begin within {limit:g} s"
        except port.RunError as error:
            if error.reason is port.Reason.UNAVAILABLE:
                raise
            return f"could not be run: {error}"
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(output_shipper.ship(sink, _Numbered(run)), name="output")
            ending = await _wait(run, deadline, limit)
            if ending is None:
                sending.cancel()
        return ending

    async def _remove(self, key: RunKey) -> None:
        if (run := await self._runtime.find(key)) is not None:
            await run.remove()


class _Numbered:
    """A hook's output, as what follows on the output of its attempt."""

    def __init__(self, run: port.Run) -> None:
        self.key = run.key
        self._run = run

    async def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        async with contextlib.aclosing(self._run.lines()) as lines:
            async for line in lines:
                yield replace(line, number=LAST_OF_ATTEMPT + line.number)


async def _wait(run: port.Run, deadline: float, limit: float) -> str | None:
    """Wait for the end, or bring it about, and say how it was; None where the runtime does not tell."""
    try:
        try:
            async with asyncio.timeout_at(deadline):
                ending = await run.wait()
        except TimeoutError:
            await run.kill()
            return f"was killed, because it took longer than {limit:g} s"
    except port.RunError as error:
        if error.reason is not port.Reason.UNAVAILABLE:
            return f"ended: {error}"
        logger.warning("the end of a hook is not known", extra=run_spec.fields(run.key) | {"cause": str(error)})
        return None
    note = f" ({ending.note})" if ending.note else ""
    return f"exited with code {ending.code}{note}"


async def _tell(key: RunKey, ending: str, sink: output_shipper.Sink) -> None:
    """Let the output end with a line that says how the hook ended."""
    logger.info("a hook has ended", extra=run_spec.fields(key) | {"outcome": ending})
    text = f"[{key.hook} {' '.join(ending.split())[:MAX_MESSAGE_CHARACTERS]}]"
    line = output.OutputLine(LAST_NUMBER, LogStream.STDERR, text)
    try:
        await retry.until_answered(lambda: sink.append(key, [line]), what="append logs", gives_up=(errors.Internal,))
    except errors.Error as error:
        logger.warning("output is not wanted", extra=run_spec.fields(key) | {"cause": str(error)})
