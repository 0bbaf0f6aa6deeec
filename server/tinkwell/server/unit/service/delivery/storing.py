"""Storage that a unit requests while it runs, in addition to its initial storage."""

from collections.abc import Sequence

from tinkwell.core.charm.reader import MAX_INSTANCES
from tinkwell.core.unit.effect import StorageRequest
from tinkwell.core.value import check, parse
from tinkwell.core.value.closed_object import nearest
from tinkwell.server.database.database import Transaction
from tinkwell.server.unit.store.request import charm, namespace, storage


async def check_room(
    transaction: Transaction,
    checks: check.Checks,
    unit_id: str,
    digest: str,
    requests: Sequence[StorageRequest],
) -> None:
    """Refuse storage that the charm with this digest does not declare, or more instances than it allows."""
    found = await charm.find(transaction.fetch, digest) if requests else None
    declared = found.manifest.storages if found is not None else {}
    asked: dict[str, int] = {}
    for index, request in enumerate(requests):
        field = parse.child("effects.storages", index)
        known = declared.get(request.storage)
        if known is None:
            advice = nearest(request.storage, [*declared])
            checks.refuse(f"{field}.name", f"the charm has no storage {parse.show(request.storage)}; {advice}")
            continue
        most = MAX_INSTANCES if known.maximum is None else known.maximum
        asked[request.storage] = asked.get(request.storage, 0) + request.count
        has = await storage.count_of_unit(transaction, unit_id, request.storage)
        if request.count < 1 or has + asked[request.storage] > most:
            checks.refuse(f"{field}.count", f"{request.count:,} is no number that is left; it has {has:,} of {most:,}")


async def write(
    transaction: Transaction, unit_id: str, namespace_name: str, requests: Sequence[StorageRequest]
) -> None:
    """Allot new instances to a unit. The caller has checked that there is room. The namespace is locked last."""
    kinds = [request.storage for request in requests for _ in range(request.count)]
    if kinds:
        first = await namespace.take_storages(transaction, namespace_name, len(kinds))
        new = [storage.NewStorage(unit_id, kind, number) for number, kind in enumerate(kinds, first)]
        await storage.insert(transaction, new)
