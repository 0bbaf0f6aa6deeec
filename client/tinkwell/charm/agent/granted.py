"""Makes the attempt that a charm handles from the server's grant."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from tinkwell.charm import errors
from tinkwell.charm.agent.folder import AgentFolder
from tinkwell.charm.agent.outbox import Outbox
from tinkwell.charm.attempt.given import Attempt, RelationGiven, SecretGiven, SecretRead, TaskGiven
from tinkwell.charm.status import Status
from tinkwell.client import errors as client_errors
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.retry import until_answered
from tinkwell.client.unit.agent.api import UnitApi
from tinkwell.client.unit.agent.grant import Grant, GrantedRelation, GrantedSecret, SecretContent
from tinkwell.client.unit.model import Bag
from tinkwell.client.unit.task import Task
from tinkwell.core.unit.effect import Notice, Port


def attempt(grant: Grant, folder: AgentFolder) -> Attempt:
    """Return the attempt of a grant, with a folder for each storage of the unit."""
    event = grant.event
    return Attempt(
        unit=grant.unit,
        ordinal=event.ordinal,
        attempt=event.attempt,
        event=event.told,
        reason=event.reason,
        term=grant.leadership.term,
        config={name: value for name, value in grant.config.items() if isinstance(value, str | int | float)},
        relations=tuple(_relation(each) for each in grant.relations),
        storages=_storages(grant, folder),
        state=grant.state,
        notices=tuple(Notice(ordinal=each.ordinal, handler=each.handler, event=each.event) for each in grant.deferred),
        ports=frozenset(Port(protocol=each.protocol, number=each.number) for each in grant.ports),
        secrets=tuple(_secret(each) for each in grant.secrets),
        task=_task(grant.task) if grant.task is not None else None,
    )


class Granted:
    """The surroundings of an attempt that the server has granted under a lease."""

    def __init__(self, units: UnitApi, held: Keeper, token: int, grant: Grant, outbox: Outbox) -> None:
        self._units = units
        self._lease = held
        self._token = token
        self._grant = grant
        self._outbox = outbox

    @property
    def is_leader(self) -> bool:
        """Whether the unit leads, and will lead for a while.

        A term lasts 30 seconds longer than the lease of its unit, so the unit leads while this lease lives without a
        break.
        """
        return self._grant.leadership.leads and self._lease.lives(self._token)

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Return the bag of a unit or an application. Raises `NotReadable`."""
        event_id, about, known = self._grant.event.id, self._grant.event.relation, self._grant.remote
        if known is not None and about is not None and (about.number, known.owner) == (relation, owner):
            return known.data

        async def read(token: int) -> Bag:
            return await self._units.read_bag(token, event_id, relation, owner)

        try:
            return (await until_answered(lambda: self._lease.under(read), what="read a bag")).data
        except (client_errors.PermissionDenied, client_errors.NotFound) as error:
            raise errors.NotReadable(error.message) from error

    async def read_secret(self, secret: str, revision: int) -> SecretRead:
        """Return a revision of a secret. Raises `SecretMissing`."""
        event_id = self._grant.event.id

        async def read(token: int) -> SecretContent:
            return await self._units.read_secret(token, event_id, secret, revision=revision)

        try:
            found = await until_answered(lambda: self._lease.under(read), what="read a secret")
        except client_errors.NotFound as error:
            raise errors.SecretMissing(f"{error.message}, or {self._grant.unit} was not granted it") from error
        return SecretRead(id=found.id, revision=found.revision, content=found.content)

    def log_task(self, text: str) -> None:
        """Add a line to the log of the running task."""
        self._outbox.log("INFO", text)

    def now(self) -> datetime:
        """Return the time."""
        return datetime.now(UTC)

    def set_status(self, status: Status) -> None:
        """Show people a status."""
        self._outbox.tell("status", status)

    def set_application_status(self, status: Status) -> None:
        """Show people a status of the application."""
        self._outbox.tell("application_status", status)

    def set_workload_version(self, version: str) -> None:
        """Show people the version of what the charm runs."""
        self._outbox.tell("workload_version", version)


def _relation(granted: GrantedRelation) -> RelationGiven:
    return RelationGiven(
        number=granted.number,
        endpoint=granted.endpoint,
        application=granted.application,
        is_peer=granted.peer,
        units=granted.members,
        own=granted.own.data,
        own_application=granted.own_application.data if granted.own_application else {},
    )


def _task(asked: Task) -> TaskGiven:
    return TaskGiven(id=asked.id, action=asked.name, parameters=asked.parameters)


def _secret(granted: GrantedSecret) -> SecretGiven:
    return SecretGiven(
        id=granted.id,
        owner=granted.owner,
        is_owned=granted.owned,
        label=granted.label,
        description=granted.description,
        latest=granted.latest,
        tracked=granted.tracked,
        rotation=granted.rotation,
        rotates_at=granted.rotates_at,
        expires_at=granted.expires_at,
        revisions=granted.revisions,
    )


def _storages(grant: Grant, folder: AgentFolder) -> Mapping[str, Path]:
    """Return the folders of the attached storages, and of those that this event attaches."""
    names = [name for name, is_attached in grant.storages.items() if is_attached]
    if grant.event.storage:
        names.append(grant.event.storage)
    return {name: folder.storage(grant.namespace, name) for name in names}
