"""Runs the hook of an action that has failed or timed out.

Theory of operation. The outcome of the action has been reported, and the hook does not change it. This process may die
at any step, and the hook must be run all the same, and never twice. So the attempt's run is kept until its hook is
done:

    1  kill the attempt's run    it may still run, because the server may have ended the action by itself
    2  start the hook's run      or adopt the run that a predecessor started, which has the same name
    3  send its output           its lines have higher numbers than any line of the attempt
    4  say how it ended          in a last line, which always has the same number, so that it is stored once
    5  remove the attempt's run  from now on the hook is done
    6  remove the hook's run     a successor that finds the hook's run without the attempt's does this

A successor that finds the attempt's run begins at 1. If the action failed before it had a run, this process runs the
hook, but a successor would not. An adopted hook gets its whole time once more.
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

# The timeout of a hook whose action has none.
DEFAULT_SECONDS = 300.0
# The highest number that a line of an attempt can have, with the remarks that follow its output.
LAST_OF_ATTEMPT = output.MAX_LINES + 2
# The number of the line that says how the hook ended. A hook has at most as many lines as an attempt, so their numbers
# are lower. The server takes no higher number.
LAST_NUMBER = 2 * LAST_OF_ATTEMPT + 1
MAX_MESSAGE_CHARACTERS = 1000


class Hooks:
    """Runs hooks in a runtime."""

    def __init__(self, runtime: port.Runtime) -> None:
        self._runtime = runtime

    async def run(self, work: run_spec.Work, sink: output_shipper.Sink, *, is_first: bool) -> bool:
        """Run a hook to its end, and remove its run and that of its attempt.

        `is_first` says that nobody can have run the hook before. Otherwise the hook counts as done if the attempt's run
        is gone. Returns False if the runtime failed: the hook is not done then, and must be run again later.
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
            logger.warning(
                "a hook could not be run; it is tried again later", extra=run_spec.fields(key) | {"cause": str(error)}
            )
            return False
        return True

    async def _carry_out(self, work: run_spec.Work, sink: output_shipper.Sink) -> str | None:
        """Run the hook and return how it ended. None, or a `RunError` that is raised, means that this is not known."""
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
    """A hook's output, numbered so that it follows the output of its attempt."""

    def __init__(self, run: port.Run) -> None:
        self.key = run.key
        self._run = run

    async def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        async with contextlib.aclosing(self._run.lines()) as lines:
            async for line in lines:
                yield replace(line, number=LAST_OF_ATTEMPT + line.number)


async def _wait(run: port.Run, deadline: float, limit: float) -> str | None:
    """Wait for the end of the hook, kill it at its deadline, and return how it ended; None if the runtime fails."""
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
        logger.warning(
            "the runtime failed to tell how a hook ended; it is asked again later",
            extra=run_spec.fields(run.key) | {"cause": str(error)},
        )
        return None
    note = f" ({ending.note})" if ending.note else ""
    return f"exited with code {ending.code}{note}"


async def _tell(key: RunKey, ending: str, sink: output_shipper.Sink) -> None:
    """Append a last line to the output that says how the hook ended."""
    logger.info("a hook has ended", extra=run_spec.fields(key) | {"outcome": ending})
    text = f"[{key.hook} {' '.join(ending.split())[:MAX_MESSAGE_CHARACTERS]}]"
    line = output.OutputLine(LAST_NUMBER, LogStream.STDERR, text)
    try:
        await retry.until_answered(lambda: sink.append(key, [line]), what="append logs", gives_up=(errors.Internal,))
    except errors.Error as error:
        logger.warning(
            "the server refused the last line of a hook's output, which is dropped",
            extra=run_spec.fields(key) | {"cause": str(error)},
        )
