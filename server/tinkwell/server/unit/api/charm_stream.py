"""UploadCharm on the wire: a package is received in parts."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.core import errors

SILENCE_SECONDS = 60.0


async def parts(
    requests: AsyncIterator[pb.UploadCharmRequest], *, silence_seconds: float = SILENCE_SECONDS
) -> AsyncGenerator[bytes, None]:
    """Yield the parts of a package. Raises `errors.TooSlow` if no part comes in time."""
    while True:
        try:
            async with asyncio.timeout(silence_seconds):
                request = await anext(requests, None)
        except TimeoutError as error:
            raise errors.TooSlow(f"the client sent nothing for {silence_seconds:g} seconds") from error
        if request is None:
            return
        yield request.data
