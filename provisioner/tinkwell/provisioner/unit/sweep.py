"""Removes the folders of storages that the server has no more, such as one that was removed once it was detached.

FOLDER/storages.history says which log of events they are of. A database that was restored, or another server, does not
know of storages that may be there again tomorrow, so nothing is removed for these.
"""

import asyncio
import logging
from typing import NoReturn

from tinkwell.client import errors, retry
from tinkwell.provisioner.unit.host import Host

logger = logging.getLogger(__name__)

SECONDS = 300.0


async def sweep_again_and_again(host: Host) -> NoReturn:
    """Sweep until cancelled; raises an `errors.Error` that cannot be mended."""
    while True:
        try:
            await sweep(host)
        except (errors.Error, OSError) as error:
            if isinstance(error, retry.HOPELESS):
                raise
            logger.warning("storages that are gone cannot be removed", extra={"cause": str(error)})
        await asyncio.sleep(SECONDS)


async def sweep(host: Host) -> None:
    """Remove what is gone. Raises `errors.Error` and `OSError`."""
    # In this order: the server knows a storage before there is a folder.
    found = await asyncio.to_thread(host.folders.storages)
    if not found:
        return
    if await asyncio.to_thread(lambda: host.folders.history) != await host.history():
        logger.info("storages of another log of events are left", extra={"storages": len(found)})
        return
    for namespace in sorted({namespace for namespace, _ in found}):
        there = await host.storages(namespace)
        for name in (name for of, name in found if of == namespace and name not in there):
            await asyncio.to_thread(host.folders.remove_storage, namespace, name)
            logger.info("a storage is gone", extra={"namespace": namespace, "storage": name})
