"""Rendering whose child's module runs in the test's own process: for tests of what is made of the answers."""

import json
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tinkwell.server.template.service import child
from tinkwell.server.template.service.rendering import Rendering

Answer: TypeAlias = Callable[[bytes], Awaitable[bytes]]


class SameProcess:
    """Answers as the child does. A test may put something else in the place of `answer`."""

    def __init__(self) -> None:
        self.answer: Answer = answer

    async def call(self, request: bytes) -> bytes:
        return await self.answer(request)

    async def close(self) -> None:
        pass


async def answer(request: bytes) -> bytes:
    """What the child answers."""
    return json.dumps(child.handle(json.loads(request), lambda _: None)).encode()


def same_process(children: SameProcess | None = None) -> Rendering:
    """Make it."""
    children = children or SameProcess()
    return Rendering(children, children)
