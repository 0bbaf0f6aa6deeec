"""PushMany on the wire: a client sends a long list of machines in pieces, and the server reports its progress.

The stream lasts as long as the client sends machines. The server keeps only a few machines while it waits for the
client, which may be silent for a minute at a time.
"""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Sequence

from tinkwell.api.v1 import hardware_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.server.hardware.api import message
from tinkwell.server.hardware.service.bulk_push import Progress
from tinkwell.server.hardware.service.check import Sent
from tinkwell.server.rpc import interceptor

SILENCE_SECONDS = 60.0
READY_KEY = "x-tinkwell-ready"

_MACHINE = re.compile(r"machines\[(\d+)\]")


async def invite(context: interceptor.Context) -> None:
    """Tell the client to send its machines.

    Before this message the server can refuse the client, which is not writing yet.
    """
    await context.send_initial_metadata(((READY_KEY, "1"),))


async def receive(
    requests: AsyncIterator[pb.PushManyRequest], *, silence_seconds: float = SILENCE_SECONDS
) -> AsyncIterator[Sequence[Sent]]:
    """Yield the machines of each request. Errors name a machine by its place in the whole stream.

    Raises `errors.InvalidField` for a request that cannot be decoded, and `errors.TooSlow` if no request comes in time.
    """
    count = 0
    while True:
        try:
            async with asyncio.timeout(silence_seconds):
                request = await anext(requests, None)
        except errors.InvalidField as error:
            raise errors.InvalidField(_placed(violation, count) for violation in error.violations) from error
        except TimeoutError as error:
            raise errors.TooSlow(f"the client sent nothing for {silence_seconds:g} seconds") from error
        if request is None:
            return
        pushes = list(itertools.takewhile(lambda push: push.HasField("data"), request.machines))
        count += len(pushes)
        yield [message.sent(push) for push in pushes]
        if len(pushes) < len(request.machines):
            raise errors.InvalidField.of(f"machines[{count}].data", "is missing; it is the machine to store")


async def report(context: interceptor.Context, progress: Progress) -> None:
    """Send the progress of the stream to the client."""
    response = pb.PushManyResponse(
        stored=progress.stored, changed=progress.changed, revision=progress.revision, stopped=progress.is_stopped
    )
    await interceptor.write(context, response, interceptor.WRITE_TIMEOUT_SECONDS)


def _placed(violation: errors.Violation, count: int) -> errors.Violation:
    field = _MACHINE.sub(lambda found: f"machines[{int(found[1]) + count}]", violation.field, count=1)
    return errors.Violation(field, violation.description)
