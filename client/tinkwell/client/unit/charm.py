"""The client of charms: uploads and lists them, and passes them to calls that deploy them."""

import asyncio
import hashlib
import importlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeAlias, TypeVar

from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.client import errors
from tinkwell.client.unit import message
from tinkwell.client.unit.model import Charm
from tinkwell.client.unit.reading import ReadingClient
from tinkwell.client.value import field
from tinkwell.core import errors as core_errors

T = TypeVar("T")

# A charm: the path of its folder or package, the bytes of a package, or the digest of a charm that the server has.
CharmLike: TypeAlias = "bytes | str | os.PathLike[str]"

_DIGEST = "sha256:"
_PACKAGE = "tinkwell.client.unit.package"
_PART_BYTES = 1024 * 1024


class CharmClient(ReadingClient):
    """Uploads charms, and lists them."""

    async def upload_charm(self, charm: CharmLike) -> Charm:
        """Store a charm, given as the path of its folder or package, or as the bytes of a package.

            charm = await client.applications.upload_charm("./web")

        A charm that the server has already is returned as it is. Raises `CharmRefused` with each mistake, and `OSError`
        for a path that cannot be read.
        """
        data = await _read(charm)

        def requests() -> Iterator[pb.UploadCharmRequest]:
            for start in range(0, len(data), _PART_BYTES):
                yield pb.UploadCharmRequest(data=data[start : start + _PART_BYTES])

        return message.charm(await self._caller.upload(self._stub.UploadCharm, requests, may_repeat=True))

    async def charm(self, digest: str) -> Charm:
        """Get a charm with its declarations; raises `NotFound`."""
        request = field.build(pb.GetCharmRequest, digest=digest)
        return message.charm(await self._caller.unary(self._stub.GetCharm, request, may_repeat=True))

    def charms(self, name: str = "") -> AsyncIterator[Charm]:
        """Iterate over charms, by name, then newest first; an empty `name` means all."""
        request = field.build(pb.ListCharmsRequest, name=name)
        return self._list(self._stub.ListCharms, request, message.charm)

    async def _with_charm(self, charm: CharmLike, call: Callable[[str], Awaitable[T]]) -> T:
        """Make a call with the digest of a charm; the charm is uploaded first if the server does not have it."""
        if isinstance(charm, str) and charm.startswith(_DIGEST):
            return await call(charm)
        data = await _read(charm)
        digest = _DIGEST + (await asyncio.to_thread(hashlib.sha256, data)).hexdigest()
        try:
            return await call(digest)
        except errors.NotFound as error:
            if error.resource_type.lower() != "charm":
                raise
            await self.upload_charm(data)
            return await call(digest)


async def _read(charm: CharmLike) -> bytes:
    if isinstance(charm, bytes):
        return charm
    try:
        return await asyncio.to_thread(_pack, Path(charm))
    except core_errors.CharmRefused as error:
        raise errors.CharmRefused.of_all(error.violations) from error


def _pack(path: Path) -> bytes:
    # The package module loads a YAML library, which callers without charms do not need.
    read: Callable[[Path], bytes] = importlib.import_module(_PACKAGE).read
    return read(path)
