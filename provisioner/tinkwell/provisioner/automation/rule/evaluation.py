"""Evaluates expressions over events: at once where that is plainly quick, and otherwise in limited children.

As many calls of children run at a time as there are children; the others wait for their turn in the order in which they
came. Each call has a second of processor time, after which its child ends and the expression has failed for this event.
Where no child can be had at all, it is tried again and again: that says nothing about the event.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from types import TracebackType

from tinkwell.client import backoff
from tinkwell.client.watch.event import Event
from tinkwell.provisioner.automation.rule import expression
from tinkwell.sandbox import errors, import_path
from tinkwell.sandbox.child import Child
from tinkwell.sandbox.limit import Limits

logger = logging.getLogger(__name__)

MODULE = "tinkwell.provisioner.automation.rule.child"
# Each may take a processor, and 256 MiB.
CHILDREN = 2
# What an expression gives is read in this process.
_LIMITS = Limits(answer_bytes=2 << 20, wall_seconds=30.0)
# A child that was killed from outside is worth another try; what ends two of them is the expression.
_TRIES = 2
_LONGEST_PAUSE_SECONDS = 10.0


def open_child() -> Child:
    """Make a child that has started nothing yet."""
    return Child(MODULE, import_path.of("cel", extra="provisioner"), limits=_LIMITS)


class Sight:
    """An event, and its shapes for expressions, which are made once and only where an expression asks for them."""

    def __init__(self, event: Event) -> None:
        self.event = event
        self._view: expression.View | None = None
        self._weight = 0
        self._context: expression.Context | None = None
        self._text = ""

    @property
    def view(self) -> expression.View:
        """The event as expressions see it."""
        if self._view is None:
            self._view = self.event.to_json()
            self._weight = expression.weight(self._view, expression.MAX_QUICK_WEIGHT)
        return self._view

    @property
    def weight(self) -> int:
        """How much of it there is to look at, or more than may be looked at here."""
        return self._weight if self.view else 0

    @property
    def context(self) -> expression.Context:
        """What the library makes of it; raises `ExpressionError`."""
        if self._context is None:
            self._context = expression.context_of(self.view)
        return self._context

    @property
    def text(self) -> str:
        """What a child is told of it."""
        if not self._text:
            self._text = json.dumps(self.view)
        return self._text

    def is_quick(self, expressions: Sequence[expression.Expression]) -> bool:
        """Whether so many expressions can be evaluated over it in this process."""
        return all(self.weight * len(expressions) <= each.quick_weight for each in expressions)


class Evaluator:
    """Evaluates for one rule set. Its children start when they are needed."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._idle = [open_child() for _ in range(CHILDREN)]
        self._children = tuple(self._idle)
        self._vacant = asyncio.Semaphore(CHILDREN)

    async def __aenter__(self) -> "Evaluator":
        """Start nothing yet."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the children."""
        for child in self._children:
            await child.close()

    async def holds(self, condition: expression.Expression, sight: Sight) -> bool:
        """Whether a condition is true of an event; raises `ExpressionError`, also where it takes too much."""
        (value,) = await self._values([condition], sight)
        return condition.truth(value)

    async def fill(self, node: expression.Node, event: Event) -> expression.Json:
        """Fill an event into every text of a JSON value; raises `ExpressionError`, also where that takes too much."""
        expressions = list(expression.expressions_of(node))
        values = await self._values(expressions, Sight(event)) if expressions else []
        return expression.filled(node, iter(values))

    async def texts(self, texts: Iterable[expression.Text], event: Event) -> list[str]:
        """Fill an event into texts, which stay texts in any case; raises `ExpressionError`, as `fill` does."""
        found = await self.fill(list(texts), event)
        assert isinstance(found, list)
        return [expression.as_text(value) for value in found]

    async def _values(self, expressions: Sequence[expression.Expression], sight: Sight) -> Sequence[expression.Json]:
        if sight.is_quick(expressions):
            return [each.value(sight.context) for each in expressions]
        texts = json.dumps([each.text for each in expressions])
        answer = await self._ask(f'{{"event":{sight.text},"texts":{texts}}}'.encode(), expressions)
        values = []
        for each, (value, why) in zip(expressions, json.loads(answer), strict=True):
            if why:
                raise expression.ExpressionError(f"{each.text!r} {expression.shortened(why)}")
            values.append(value)
        return values

    async def _ask(self, request: bytes, expressions: Sequence[expression.Expression]) -> bytes:
        pause = backoff.Backoff(longest_seconds=_LONGEST_PAUSE_SECONDS)
        tries = 0
        while True:
            try:
                async with self._child() as child:
                    return await child.call(request)
            except errors.NotStarted as error:
                delay = pause.next_seconds()
                fields = {"cause": error.reason, "again_in": delay}
                logger.warning("expressions cannot be evaluated, and are tried again", extra=fields)
                await asyncio.sleep(delay)
            except errors.Died as error:
                tries += 1
                if tries >= _TRIES:
                    raise _failure(expressions, f"{error.reason}, most likely since it takes all memory") from error
            except errors.Exceeded as error:
                raise _failure(expressions, f"it {error.reason}") from error
            except errors.SandboxError as error:
                raise _failure(expressions, error.reason) from error

    @contextlib.asynccontextmanager
    async def _child(self) -> AsyncIterator[Child]:
        """Have a child, of the idle ones that which was used last: the others may never have to start."""
        async with self._vacant:
            child = self._idle.pop()
            try:
                yield child
            finally:
                self._idle.append(child)


def _failure(expressions: Sequence[expression.Expression], reason: str) -> expression.ExpressionError:
    if len(expressions) == 1:
        return expressions[0].failure(reason)
    return expression.ExpressionError(f"{len(expressions)} expressions cannot be evaluated together: {reason}")
