"""Implements SetConfig and Refresh: a new configuration or charm, which units learn of by their events."""

from collections.abc import Mapping

from tinkwell.core import errors
from tinkwell.core.charm import config, match, package
from tinkwell.core.charm.record import Manifest, Role
from tinkwell.core.unit.kinds import CharmKind, Profile
from tinkwell.core.unit.record import Application
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.service.request import deploying
from tinkwell.server.unit.service.request import request as requests
from tinkwell.server.unit.service.request.charms import Charms
from tinkwell.server.unit.service.request.request import Refresh
from tinkwell.server.unit.store.request import application as applications
from tinkwell.server.unit.store.request import relation, storage, unit


class Changing:
    """Changes the configuration and the charm of applications."""

    def __init__(self, database: Database, charms: Charms) -> None:
        self._database = database
        self._charms = charms

    async def set_config(self, namespace: str, application: str, config_text: str, *, actor: str) -> Application:
        """Change options of an application, all or none. A null resets an option to its default.

        Raises `errors.InvalidField`, `errors.NotFound`, and `errors.IllegalTransition` while it is being removed.
        """
        named = requests.parse_application(namespace, application)
        given = requests.parse_config(config_text)

        async def work(transaction: Transaction) -> Application:
            locked = await deploying.lock_alive(transaction, named.namespace, named.name)
            charm = await self._charms.find(locked.charm, transaction.fetch)
            edited = config.edit(charm.manifest.options, read_config(locked.config), given, field="config")
            transaction.changed = not document.is_same(edited, read_config(locked.config))
            if transaction.changed:
                await applications.configure(transaction, locked.id, document.dump_json(edited))
            return await _found(transaction, locked.id)

        return (await self._database.write(work, actor=actor)).value

    async def refresh(self, asked: Refresh, *, actor: str) -> Application:
        """Give an application another charm. With the same charm, only the configuration changes.

        An option that the new charm does not accept gets its default. Raises `errors.CharmRefused`, and what
        `set_config` raises.
        """
        named = requests.parse_application(asked.namespace, asked.application)
        digest = package.parse_digest("charm", asked.charm)
        given = requests.parse_config(asked.config)
        new = (await self._charms.use(digest)).manifest

        async def work(transaction: Transaction) -> Application:
            locked = await deploying.lock_alive(transaction, named.namespace, named.name)
            current = read_config(locked.config)
            edited = config.edit(new.options, config.kept(new.options, current), given, field="config")
            transaction.changed = digest != locked.charm or not document.is_same(edited, current)
            if digest != locked.charm:
                old = (await self._charms.find(locked.charm, transaction.fetch)).manifest
                await _check(transaction, locked, old, new)
                await applications.refresh(transaction, locked.id, charm=digest, config=document.dump_json(edited))
                await _add(transaction, named.namespace, locked, old, new)
            elif transaction.changed:
                await applications.configure(transaction, locked.id, document.dump_json(edited))
            return await _found(transaction, locked.id)

        return (await self._database.write(work, actor=actor)).value


def read_config(text: str) -> JsonObject:
    """Read a stored configuration."""
    return document.parse_json_object("config", text)


async def _check(transaction: Transaction, locked: applications.Locked, old: Manifest, new: Manifest) -> None:
    """Refuse a charm that lacks something that is in use. Raises `errors.CharmRefused`."""
    if new.kind is CharmKind.OPS and locked.profile is not Profile.JUJU:
        sentence = "was written for Juju, and the application has the profile LITERAL; deploy it anew"
        raise errors.CharmRefused.of("charm", sentence)
    related = await relation.related(transaction, locked.id)
    stored = await storage.kinds_of_application(transaction, locked.id)
    match.check_refresh(old, new, related=related.keys(), stored=stored, profile=locked.profile)


async def _add(
    transaction: Transaction, namespace: str, locked: applications.Locked, old: Manifest, new: Manifest
) -> None:
    """Create the peer relations and storages that only the new charm has.

    Units see them once they run the new charm.
    """
    related = await relation.related(transaction, locked.id)
    peers = [endpoint.name for endpoint in new.of_role(Role.PEER) if endpoint.name not in related]
    counts: Mapping[str, int] = {
        name: each.minimum for name, each in new.storages.items() if name not in old.storages and each.minimum
    }
    if counts:
        units = await unit.lock_alive(transaction, locked.id)
        await deploying.make_storages(transaction, namespace, units, counts)
    await deploying.make_peers(transaction, namespace, locked.id, locked.name, new, peers)


async def _found(transaction: Transaction, application_id: str) -> Application:
    found = await applications.find_by_id(transaction.fetch, application_id)
    assert found is not None
    return found
