"""A handle of an operation that was begun: waits for its end and gets its result."""

from collections import deque
from collections.abc import AsyncIterator
from typing import Any, Protocol

from tinkwell.client import errors
from tinkwell.client.release import failure
from tinkwell.client.release.model import Node, Operation, Step, StepLogLine
from tinkwell.core.event.kinds import State
from tinkwell.core.release.transition.ending import follow_up_id

TAIL_LINES = 20


class ReleaseFailed(errors.Error):
    """The operation has ended without success.

    `node` is the first resource that failed, None if none did. `step` is its last step, and `log_tail` the last lines
    that this printed. `follow_up` is the operation that undid this one, if this one was atomic and had changed
    something; it may have failed, too.
    """

    default_code = "FAILED"

    def __init__(
        self,
        operation: Operation,
        node: Node | None = None,
        log_tail: tuple[str, ...] = (),
        follow_up: Operation | None = None,
    ) -> None:
        self.operation = operation
        self.node = node
        self.step: Step | None = failure.last_step(node) if node is not None else None
        self.log_tail = log_tail
        self.follow_up = follow_up
        super().__init__(failure.sentence(operation, node))


class Releases(Protocol):
    """The calls that a handle uses."""

    async def wait(self, operation_id: str) -> Operation:
        """Wait until an operation has ended."""

    def nodes(self, operation_id: str) -> AsyncIterator[Node]:
        """Iterate over an operation's nodes."""

    def logs(self, operation_id: str, *, follow: bool = False, path: str = "") -> AsyncIterator[StepLogLine]:
        """Iterate over the output of an operation's steps."""


class OperationHandle:
    """An operation as it was when it began, and the calls that wait for its end.

    handle = await client.releases.apply("shop", files={"shop.yaml": text})
    try:
        await handle.result()
    except tinkwell.client.ReleaseFailed as failure:
        print(failure, failure.log_tail)
    """

    def __init__(self, operation: Operation, releases: Releases) -> None:
        self.operation = operation
        self._releases = releases

    @property
    def id(self) -> str:
        """The id of the operation."""
        return self.operation.id

    async def result(self) -> Operation:
        """Wait until the operation has succeeded, over lost connections; raises `ReleaseFailed` for another end.

        If an atomic operation fails, it also waits for the operation that undoes it. Cancelling the wait does not
        cancel the operation.
        """
        ended = await self._releases.wait(self.id)
        if ended.state is State.SUCCEEDED:
            return ended
        follow_up = await self._follow_up(ended)
        node = await self._failed_node(ended)
        raise ReleaseFailed(ended, node, await self._tail(ended, node), follow_up)

    async def plan(self) -> dict[str, Any]:
        """Wait until a plan has succeeded, and get its document; raises what `result` raises.

        Empty for an operation that is no plan.
        """
        return (await self.result()).result or {}

    async def _follow_up(self, ended: Operation) -> Operation | None:
        if ended.options is None or not ended.options.atomic:
            return None
        try:
            return await self._releases.wait(follow_up_id(ended.id))
        except errors.NotFound:
            return None  # the operation had changed nothing

    async def _failed_node(self, ended: Operation) -> Node | None:
        try:
            return failure.first_failed([node async for node in self._releases.nodes(ended.id)])
        except errors.NotFound:
            return None

    async def _tail(self, ended: Operation, node: Node | None) -> tuple[str, ...]:
        step = failure.last_step(node) if node is not None else None
        if step is None:
            return ()
        lines: deque[str] = deque(maxlen=TAIL_LINES)
        try:
            async for line in self._releases.logs(ended.id, path=step.path):
                if (line.step_id, line.attempt) == (step.id, step.attempt):
                    lines.append(line.text)
        except errors.NotFound:
            return ()
        return tuple(lines)
