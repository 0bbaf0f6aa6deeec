"""Makes calls of an image as a provisioner does, without a server: one container or process each.

What a call prints is kept for what is said of it.
"""

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tinkwell.core.release.protocol import answer
from tinkwell.core.release.protocol.request import Caller as Request
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime import port

SHOWN_LINES = 5
# What Deployster does not tell its images.
_OURS = ("protocol", "release", "operation_id", "chart_path")
_RELEASE = "resource-test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A call that has ended: `problem` says why it has not gone well, and is empty where it has.

    `is_missing` says that its image is not here.
    """

    problem: str = ""
    is_missing: bool = False
    answer: bytes = b""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Makes the calls of one resource, called `name`, of an image. `mounts` are its plugs by their names."""

    runtime: port.Runtime
    image: str
    name: str
    mounts: Mapping[str, port.Mount]
    # What its runs are known by.
    owner: str

    async def init(self, *, seconds: float, is_deployster: bool = False) -> Ended:
        """Ask what the image needs, as Deployster does where that is wanted."""
        return await self._call(None, Request.init, seconds=seconds, is_deployster=is_deployster)

    async def state(self, call: answer.Call, config: object, *, seconds: float, is_deployster: bool = False) -> Ended:
        """Ask for the state."""

        def ask(request: Request) -> bytes:
            return request.state(_object(config))

        return await self._call(call, ask, seconds=seconds, is_deployster=is_deployster)

    async def action(self, call: answer.Call, config: object, stale_state: object, *, seconds: float) -> Ended:
        """Have an action run."""

        def ask(request: Request) -> bytes:
            return request.action(_object(config), _object(stale_state or {}))

        return await self._call(call, ask, seconds=seconds, has_answer=False)

    async def destroy(self, call: answer.Call, config: object, state: object, *, seconds: float) -> Ended:
        """Have the resource removed, which was seen last in a state."""

        def ask(request: Request) -> bytes:
            return request.destroy(_object(config), _object(state or {}))

        return await self._call(call, ask, seconds=seconds, has_answer=False)

    async def _call(
        self,
        call: answer.Call | None,
        ask: Callable[[Request], bytes],
        *,
        seconds: float,
        has_answer: bool = True,
        is_deployster: bool = False,
    ) -> Ended:
        key = RunKey(RunKind.RELEASE, self.owner, str(uuid.uuid4()), 1)
        request = Request(
            name=self.name,
            type=self.image,
            workspace=self.runtime.workspace(key),
            release=_RELEASE,
            operation_id=self.owner,
        )
        told = ask(request)
        spec = self._describe(key, call, _as_deployster(told) if is_deployster else told, has_answer=has_answer)
        try:
            await self.runtime.image_id(spec.image)  # to fetch it takes none of the call's time
            run = await self.runtime.start(spec)
        except port.RunError as error:
            return Ended(problem=f"did not begin: {error}", is_missing=error.reason is port.Reason.IMAGE)
        try:
            return await _see_through(run, seconds=seconds, has_answer=has_answer)
        finally:
            await run.remove()

    def _describe(self, key: RunKey, call: answer.Call | None, stdin: bytes, *, has_answer: bool) -> port.RunSpec:
        is_own = call is not None and call.image in ("", self.image)
        mounts = self.mounts if is_own else {}
        return port.RunSpec(
            key=key,
            image=(call.image if call is not None else "") or self.image,
            entrypoint=call.entrypoint if call is not None else "",
            command=call.args if call is not None else None,
            environment=tuple(
                f"TINKWELL_PLUG_{name.upper().replace('-', '_')}={self.runtime.seen_at(mount)}"
                for name, mount in mounts.items()
            ),
            mounts=tuple(mounts.values()),
            workdir=self.runtime.workspace(key),
            stdin=stdin,
            answer_bytes=answer.MAX_ANSWER_BYTES if has_answer else 0,
        )


async def _see_through(run: port.Run, *, seconds: float, has_answer: bool) -> Ended:
    """Wait for the end of a call, and kill it where that does not come in time."""
    lines: list[str] = []

    async def read() -> None:
        async for line in run.lines():
            lines.append(line.text)
            del lines[:-SHOWN_LINES]

    async with asyncio.TaskGroup() as group:
        group.create_task(read(), name="lines of a call")
        try:
            async with asyncio.timeout(seconds):
                ending = await run.wait()
        except TimeoutError:
            await run.kill()
            problem = f"did not end within {seconds:g} s, and was killed"
        except port.RunError as error:
            problem = str(error)
        else:
            problem = f"exited with code {ending.code}" if ending.code else ""
    found = b""
    if has_answer and not problem:
        try:
            found = await run.answer()
        except port.RunError as error:
            problem = str(error)
    return Ended(problem=problem, answer=found, lines=tuple(lines))


def _as_deployster(told: bytes) -> bytes:
    return json.dumps({key: value for key, value in json.loads(told).items() if key not in _OURS}, indent=2).encode()


def _object(value: object) -> Mapping[str, object]:
    assert isinstance(value, Mapping)
    return value
