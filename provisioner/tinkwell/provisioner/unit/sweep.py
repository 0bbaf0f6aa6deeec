"""Removes the folders of storages that the server does not have, such as one that was removed after it was detached.

FOLDER/storages.history has the id of the event log that the storages belong to. If the server has another event log, as
after a restore of its database, nothing is removed: the server may only not know these storages for now.
"""

import asyncio
import logging
from typing import NoReturn

from tinkwell.client import errors, retry
from tinkwell.provisioner.unit.host import Host

logger = logging.getLogger(__name__)

SECONDS = 300.0


async def sweep_again_and_again(host: Host) -> NoReturn:
    """Sweep until cancelled; raises an `errors.Error` that no retry can mend."""
    while True:
        try:
            await sweep(host)
        except (errors.Error, OSError) as error:
            if isinstance(error, retry.HOPELESS):
                raise
            logger.warning(
                "the folders of removed storages cannot be cleared up; it is tried again in some minutes",
                extra={"cause": str(error)},
            )
        await asyncio.sleep(SECONDS)


async def sweep(host: Host) -> None:
    """Remove the folders of storages that the server does not have. Raises `errors.Error` and `OSError`."""
    # The folders are listed before the server is asked, because the server knows a storage before it has a folder.
    found = await asyncio.to_thread(host.folders.storages)
    if not found:
        return
    if await asyncio.to_thread(lambda: host.folders.history) != await host.history():
        logger.info(
            "the storages here belong to another event log than the server's; none is removed",
            extra={"storages": len(found)},
        )
        return
    for namespace in sorted({namespace for namespace, _ in found}):
        there = await host.storages(namespace)
        for name in (name for of, name in found if of == namespace and name not in there):
            await asyncio.to_thread(host.folders.remove_storage, namespace, name)
            logger.info(
                "the folder of a storage that the server does not have was removed",
                extra={"namespace": namespace, "storage": name},
            )
