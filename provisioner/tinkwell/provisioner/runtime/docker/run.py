"""One run of the docker runtime: a container that is followed, waited for, killed and removed."""

import asyncio
import contextlib
import functools
import itertools
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from dataclasses import replace

from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.runtime import output, output_mark, port
from tinkwell.provisioner.runtime.docker import attachment, engine, inspection, peek, stream
from tinkwell.provisioner.state_dir import state_dir

logger = logging.getLogger(__name__)

WAIT_SECONDS = 60.0
# If a container still runs this long after the end of its output, the connection to its output broke off.
END_SECONDS = 2.0
KILL_SECONDS = 10.0
REOPEN_SECONDS = 0.5
POLL_SECONDS = 0.1
CREATOR_SECONDS = 3.0
# How long a log is followed before the container's incomplete line is looked at too.
PEEK_SECONDS = 1.0
FORGOTTEN = "lines were dropped here: the engine keeps only a part of so much output; the next lines may repeat some"


class DockerRun:
    """A run of the docker runtime, which is one container. `known` is its state when it was found."""

    def __init__(
        self,
        key: RunKey,
        container: str,
        found: engine.Engine,
        marks: output_mark.MarkFolder,
        *,
        known: inspection.Container | None = None,
    ) -> None:
        self.key = key
        self.container = container
        self._engine = found
        self._marks = marks
        self._mark = marks.of(key)
        self._known = known
        self._answering: attachment.Answering | None = None
        # Whether this object has started the container, and whether it has seen its end.
        self._was_started = False
        self._is_over = False
        self._stream: stream.Stream | None = None

    @property
    def image_id(self) -> str:
        """The digest of the image, empty until the engine has told it."""
        return "" if self._known is None else self._known.image_id

    def lines(self) -> AsyncGenerator[output.OutputLine, None]:
        """Yield the output from the engine's log or, if this object has asked for an answer, from its attachment."""
        return self._log() if self._answering is None else self._answering.lines()

    async def _log(self) -> AsyncGenerator[output.OutputLine, None]:
        """Yield the output in passes over the engine's log. Each begins at its start and skips lines yielded before.

        A pass that follows the log may break off. It may also end too early without an error, because an engine stops
        following when the container ends, even if the reader is behind. So the last pass is one that began after the
        end. That pass also notices if the engine has forgotten lines before they were read.
        """
        last, reading, opened = 0, None, None
        with told():
            if not (self._was_started or await self._keeps_output()):
                return
            while reading is None or not reading.is_complete:
                if reading is not None and not await self._has_ended():
                    await asyncio.sleep(REOPEN_SECONDS)
                is_fresh = reading is None and self._was_started
                was_long = reading is not None and reading.is_long
                reading = _Pass(is_over=not is_fresh and await self._has_ended(), was_long=was_long)
                async with contextlib.aclosing(self._read(reading)) as lines:
                    async for line in lines:
                        if line.number > last:
                            last = line.number if not line.is_open else line.number - 1
                            await self._mark.reserve(line.number)
                            opened = line if line.is_open else None
                            yield line
            if opened is not None:  # The log never had this line as a complete one.
                yield replace(opened, is_open=False)

    async def wait(self) -> port.Exit:
        """Wait for the container's end."""
        with told():
            if self._answering is not None:
                await self._hear_out(self._answering)
            elif self._was_started:
                await self._engine.wait(self.container, at_most_seconds=WAIT_SECONDS)
            else:
                await self._ensure_started()
            found = await self._ended()
        self._is_over = True
        if self._stream is not None:
            self._stream.end_soon()
        return port.Exit(code=found.exit_code, seconds=found.seconds, note=found.note)

    async def _ended(self) -> inspection.Container:
        """Wait until the container has ended. If its output ended and it goes on, the output counts as broken off."""
        looks = 0
        while not (found := await self._inspect()).is_over:
            looks += 1
            is_early = self._answering is not None and looks == 1
            if self._answering is not None and not is_early:
                self._answering.break_off()
            if found.is_running:
                await self._engine.wait(self.container, at_most_seconds=END_SECONDS if is_early else WAIT_SECONDS)
            else:  # It is being removed.
                await asyncio.sleep(POLL_SECONDS)
        return found

    async def answer(self) -> bytes:
        """Return the answer, if this object has started the container."""
        if self._answering is None:
            raise port.RunError(port.Reason.LOST, "its answer is lost, because the process that started it is gone")
        return self._answering.answer()

    async def was_fed(self) -> bool:
        """Return whether the process that started the container has noted that it has all of its input."""
        with told():
            known = self._known or await self._inspect()
            return not known.takes_input or await asyncio.to_thread(self._marks.is_fed, self.key)

    async def kill(self) -> None:
        """Kill the container, and wait for its end."""
        with told():
            await self._engine.kill(self.container)
            try:
                async with asyncio.timeout(KILL_SECONDS):
                    while (await self._engine.inspect(self.container)).is_running:
                        await self._engine.wait(self.container, at_most_seconds=KILL_SECONDS)
            except engine.Gone:
                return
            except TimeoutError:
                message = f"the container did not die within {KILL_SECONDS:.0f} s"
                raise port.RunError(port.Reason.UNAVAILABLE, message) from None

    async def remove(self) -> None:
        """Remove the container and its anonymous volumes."""
        with told():
            await self._engine.remove(self.container)
            await asyncio.to_thread(self._marks.remove, self.key)

    async def put(self, folder: str, archive: bytes) -> None:
        """Unpack a tar archive in a folder of the container, which must not have been started."""
        try:
            await self._engine.put(self.container, folder, archive)
        except engine.Refused as error:
            await self._engine.remove(self.container)
            message = f"the files of the workspace cannot be put into the container: {error}"
            raise port.RunError(port.Reason.SPECIFICATION, message) from error

    async def start(
        self, *, stdin: bytes | None = None, answer_bytes: int = 0, may_begin: Callable[[], bool] = port.always
    ) -> None:
        """Attach to the container's input and answer, if it has these, and start it for the first time."""
        async with contextlib.AsyncExitStack() as undo:
            attach = functools.partial(self._attach, undo)
            try:
                says = await attach("stdout", "stderr") if answer_bytes else None
                gets = None if stdin is None else await attach("stdin")
                if not may_begin():
                    await self._engine.remove(self.container)
                    raise port.forbidden()
                await self._engine.start(self.container)
            except engine.Refused as error:
                await self._engine.remove(self.container)
                raise port.RunError(port.Reason.ENTRY_POINT, f"the container did not start: {error}") from error
            undo.pop_all()
        self._was_started = True
        if says is not None:
            self._answering = attachment.Answering(
                says, answer_bytes, functools.partial(self._engine.kill_soon, self.container)
            )
            self._engine.beside(self._answering.read)
        if gets is not None and stdin is not None:
            self._engine.beside(functools.partial(attachment.feed, gets, stdin, self._note_fed))

    async def _attach(self, undo: contextlib.AsyncExitStack, *streams: str) -> attachment.Attachment:
        attached = await self._engine.attach(self.container, streams=streams)
        undo.callback(attached.close)
        return attached

    def _note_fed(self) -> None:
        """Note, in a thread, that the container has got all of its input."""
        try:
            self._marks.note_fed(self.key)
        except OSError as error:
            logger.warning(
                "it cannot be noted that a run has got all of its input; if this provisioner dies, the run is killed",
                extra={"run": self.key.run, "cause": str(error)},
            )

    async def _hear_out(self, answering: attachment.Answering) -> None:
        """Wait for the end of the output, which is the end of the container."""
        while not answering.is_over:
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await answering.ended()
            except TimeoutError:
                if (await self._inspect()).is_over:
                    answering.break_off()

    async def _ensure_started(self) -> None:
        """Start a container if its creator has not done so within `CREATOR_SECONDS`, because it has probably died."""
        deadline = asyncio.get_running_loop().time() + CREATOR_SECONDS
        while (found := await self._inspect()).status == "created":
            if asyncio.get_running_loop().time() > deadline:
                if found.takes_input or not found.keeps_output:
                    raise port.RunError(port.Reason.LOST, "it never ran, and the process that was to start it is gone")
                await self.start()
            await asyncio.sleep(POLL_SECONDS)

    async def _read(self, reading: "_Pass") -> AsyncGenerator[output.OutputLine, None]:
        """Yield the lines of one pass, and set `reading.is_complete` if no other pass is needed."""
        is_over = reading.is_over
        try:
            log = self._stream = await self._engine.logs(self.container, follow=not is_over)
            if is_over or self._is_over:
                log.end_soon()
            async with contextlib.aclosing(log.chunks()) as chunks, _Peeking(self, log, reading) as peeking:
                async for chunk in chunks:
                    for line in await self._take(chunk, reading):
                        yield line
                    for line in await peeking.lines():
                        yield line
        except stream.BrokenStreamError:
            return
        except engine.Gone:
            is_over = True  # Nothing more can be read.
        if is_over:
            for line in await self._finish(reading):
                yield line
        else:  # The log ends a moment before the engine says that the container has ended.
            await self._engine.wait(self.container, at_most_seconds=KILL_SECONDS)

    async def begin_peek(self, on_news: Callable[[], None]) -> peek.Peek | None:
        """Attach to the container to see its incomplete line; None if the engine refuses."""
        try:
            attached = await self._engine.attach(self.container, streams=("stdout", "stderr"), with_log=True)
        except engine.EngineError as error:
            logger.debug(
                "the engine refused to attach to a container; its progress is not shown",
                extra={"run": self.key.run, "cause": str(error)},
            )
            return None
        return peek.Peek(attached, on_news)

    async def _take(self, chunk: bytes, reading: "_Pass") -> Iterable[output.OutputLine]:
        """Return the lines that a chunk completes. Their numbers depend on the stamp of the log's first line."""
        if reading.reader is not None:
            return reading.reader.feed(chunk)
        reading.head += chunk
        if (stamp := output.first_stamp(reading.head)) is None:
            return ()
        base = await self._mark.begin(stamp)
        # If the first half of a long output was read and the engine has forgotten lines since, only the end is wanted.
        reader = reading.reader = output.OutputReader(base=base, has_stamps=True, is_long=reading.was_long and base > 0)
        notes = [reader.note(FORGOTTEN)] if base else []
        return itertools.chain(notes, reader.feed(bytes(reading.head)))

    async def _finish(self, reading: "_Pass") -> Iterable[output.OutputLine]:
        """Return the last lines of the last pass."""
        reading.is_complete = True
        return () if reading.reader is None else reading.reader.finish()

    async def _has_ended(self) -> bool:
        try:
            return self._is_over or (await self._engine.inspect(self.container)).is_over
        except engine.Gone:
            return True

    async def _keeps_output(self) -> bool:
        """Return whether the engine keeps the output, and does not only send it to the process that attached."""
        try:
            known = self._known or await self._engine.inspect(self.container)
        except engine.Gone:
            return True
        return known.keeps_output

    async def _inspect(self) -> inspection.Container:
        try:
            self._known = await self._engine.inspect(self.container)
        except engine.Gone as error:
            raise port.RunError(port.Reason.LOST, "its container was removed by somebody else") from error
        return self._known


class _Pass:
    """One pass over the log. `is_over`: it began after the container's end. `is_complete`: no other pass is needed."""

    def __init__(self, *, is_over: bool, was_long: bool) -> None:
        self.is_over = is_over
        self.was_long = was_long
        self.is_complete = False
        self.head = bytearray()
        self.reader: output.OutputReader | None = None

    @property
    def is_long(self) -> bool:
        """Whether the first half of a long output was read, by this pass or an earlier one."""
        return self.was_long or (self.reader is not None and self.reader.is_long)


class _Peeking:
    """Shows the container's incomplete line in a pass that follows the log, after `PEEK_SECONDS`."""

    def __init__(self, run: DockerRun, log: stream.Stream, reading: _Pass) -> None:
        self._run = run
        self._log = log
        self._reading = reading
        self._peek: peek.Peek | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_due = False

    async def __aenter__(self) -> "_Peeking":
        if not self._reading.is_over:
            self._timer = asyncio.get_running_loop().call_later(PEEK_SECONDS, self._begin)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._end()

    async def lines(self) -> Iterable[output.OutputLine]:
        """Return the incomplete line if it is a progress and has changed."""
        if self._reading.is_long:
            self._end()
        elif self._is_due:
            self._is_due = False
            self._peek = await self._run.begin_peek(self._log.nudge)
        if self._peek is None:
            return ()
        reader = self._reading.reader or output.OutputReader()
        found = self._peek.progress(reader.completed)
        return () if found is None else reader.open(*found)

    def _begin(self) -> None:
        self._is_due = True
        self._log.nudge()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._peek is not None:
            self._peek.close()
            self._peek = None


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Raise errors of the engine and of the state directory as `RunError`."""
    try:
        yield
    except engine.Unreachable as error:
        message = f"the Docker Engine does not answer: {error}"
        raise port.RunError(port.Reason.UNAVAILABLE, message) from error
    except engine.EngineError as error:
        raise port.RunError(port.Reason.UNAVAILABLE, f"the Docker Engine failed: {error}") from error
    except (OSError, state_dir.StateError) as error:
        message = f"the state directory cannot be used: {error}"
        raise port.RunError(port.Reason.UNAVAILABLE, message) from error
