"""Implements Relate and Unrelate: relations between two applications."""

import dataclasses

from tinkwell.core import errors
from tinkwell.core.charm import match
from tinkwell.core.charm.match import Reference
from tinkwell.core.charm.record import Manifest
from tinkwell.core.release import name as namespaces
from tinkwell.core.unit import limit
from tinkwell.core.unit.record import Relation
from tinkwell.core.value import check
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.service.request import deploying
from tinkwell.server.unit.service.request.charms import Charms
from tinkwell.server.unit.service.request.reap import Reap
from tinkwell.server.unit.store.request import application as applications
from tinkwell.server.unit.store.request import namespace as namespace_store
from tinkwell.server.unit.store.request import relation


@dataclasses.dataclass(frozen=True, slots=True)
class _Asked:
    namespace: str
    first: Reference
    second: Reference


class Relating:
    """Creates and ends relations."""

    def __init__(self, database: Database, charms: Charms, reap: Reap) -> None:
        self._database = database
        self._charms = charms
        self._reap = reap

    async def relate(self, namespace: str, first: str, second: str, *, actor: str) -> Relation:
        """Create a relation. If it exists and is not ending, return it unchanged.

        Raises `errors.InvalidField`, `errors.NotFound`, `errors.EndpointMismatch`, `errors.LimitReached`, and
        `errors.IllegalTransition` for an application that is being removed.
        """
        asked = _parse(namespace, first, second)

        async def work(transaction: Transaction) -> Relation:
            both = await self._lock(transaction, asked)
            for each in both.values():
                deploying.check_alive(each)
            manifests = await self._manifests(transaction, both)
            pair = match.match(asked.first, asked.second, manifests)
            ends = [_end(both, end) for end in (pair.provider, pair.requirer)]
            if (former := await relation.find_alive(transaction.fetch, asked.namespace, ends)) is not None:
                transaction.changed = False
                return former
            for end in ends:
                await _check_limit(transaction, end, manifests[end.application])
            units = sum(each.units for each in both.values())
            if units > limit.MEMBERS_PER_RELATION:
                most = f"{limit.MEMBERS_PER_RELATION:,}"
                raise errors.LimitReached(f"the relation would have {units:,} units; at most {most} may be in one")
            number = await namespace_store.take_relations(transaction, asked.namespace, 1)
            await relation.insert(
                transaction, namespace=asked.namespace, number=number, interface=pair.interface, ends=ends
            )
            made = await relation.find(transaction.fetch, asked.namespace, number)
            assert made is not None
            return made

        return (await self._database.write(work, actor=actor)).value

    async def unrelate(self, namespace: str, first: str, second: str, number: int, *, actor: str) -> Relation:
        """Begin the end of a relation, named by its number or else by its two ends. A repeated request changes nothing.

        Raises `errors.InvalidField`, `errors.NotFound`, `errors.EndpointMismatch`, and `errors.IllegalTransition` for a
        peer relation.
        """
        namespace = namespaces.parse_namespace("namespace", namespace)
        asked = None if number else _parse(namespace, first, second)

        async def work(transaction: Transaction) -> Relation:
            found = await self._find(transaction, namespace, number, asked)
            if found.is_peer:
                end = found.ends[0]
                what = f"relation {found.number} ({end.application}:{end.endpoint})"
                raise errors.IllegalTransition(what, "it is a peer relation; remove the application instead")
            transaction.changed = await relation.mark_dying(transaction, found.id, actor=actor)
            return await relation.find(transaction.fetch, namespace, found.number) or found

        ended = (await self._database.write(work, actor=actor)).value
        await self._reap(actor=actor)
        return ended

    async def _find(self, transaction: Transaction, namespace: str, number: int, asked: _Asked | None) -> Relation:
        if asked is None:
            found = await relation.find(transaction.fetch, namespace, number)
        else:
            both = await self._lock(transaction, asked)
            pair = match.match(asked.first, asked.second, await self._manifests(transaction, both))
            ends = [_end(both, end) for end in (pair.provider, pair.requirer)]
            found = await relation.find_alive(transaction.fetch, namespace, ends)
        if found is None:
            what = str(number) if asked is None else f"of {_written(asked.first)} and {_written(asked.second)}"
            raise errors.NotFound("RELATION", what)
        return found

    async def _lock(self, transaction: Transaction, asked: _Asked) -> dict[str, applications.Locked]:
        names = [asked.first.application, asked.second.application]
        found = await applications.lock(transaction, asked.namespace, names)
        for name in names:
            if name not in found:
                raise deploying.missing(asked.namespace, name)
        return {**found}

    async def _manifests(self, transaction: Transaction, both: dict[str, applications.Locked]) -> dict[str, Manifest]:
        return {name: (await self._charms.find(each.charm, transaction.fetch)).manifest for name, each in both.items()}


def _parse(namespace: str, first: str, second: str) -> _Asked:
    checks = check.Checks()
    namespace = checks.take(namespaces.parse_namespace, "namespace", namespace)
    references: list[Reference] = []
    for field, text in (("first", first), ("second", second)):
        try:
            references.append(match.parse_reference(field, text))
        except errors.InvalidField as error:
            checks.note(error)
    checks.finish()
    return _Asked(namespace, *references)


def _end(both: dict[str, applications.Locked], end: match.End) -> relation.NewEnd:
    return relation.NewEnd(both[end.application].id, end.application, end.endpoint)


async def _check_limit(transaction: Transaction, end: relation.NewEnd, manifest: Manifest) -> None:
    most = manifest.endpoints[end.endpoint].limit
    related = (await relation.related(transaction, end.application_id)).get(end.endpoint)
    if most and related is not None and related.alive >= most:
        has = "1 relation" if most == 1 else f"{most:,} relations"
        sentence = f"it has {has} already, which is all that its charm allows; remove one first"
        raise errors.EndpointMismatch(f"{end.application}:{end.endpoint}", sentence)


def _written(reference: Reference) -> str:
    return f"{reference.application}:{reference.endpoint}" if reference.endpoint else reference.application
