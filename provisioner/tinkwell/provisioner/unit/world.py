"""The world of an attempt: answers the questions of a charm's programs from the server, and reports what they say."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from tinkwell.client import errors
from tinkwell.client.unit.agent.grant import Grant
from tinkwell.client.unit.model import UnitLogLine, UnitStatus
from tinkwell.core import errors as core_errors
from tinkwell.core.charm import metadata
from tinkwell.provisioner.unit import ending, journal
from tinkwell.provisioner.unit.attempt.given import Status
from tinkwell.provisioner.unit.attempt.world import Content, Declared, Refused
from tinkwell.provisioner.unit.folder import UnitFolder
from tinkwell.provisioner.unit.granted import Granted
from tinkwell.provisioner.unit.host import Host

# Log levels that are for the charm's developers, and not for the user who has started a task.
_QUIET = ("TRACE", "DEBUG")


class Around:
    """The world of one attempt. `learn` is called with each newer grant of the same attempt."""

    def __init__(self, host: Host, given: Granted, folder: UnitFolder, learn: Callable[[Granted], None]) -> None:
        self._host = host
        self._granted = given
        self._folder = folder
        self._learn = learn
        event = given.grant.event
        self.journal = journal.Journal(self._send, ordinal=event.ordinal, attempt=event.attempt)

    @property
    def grant(self) -> Grant:
        """The newest grant of the attempt."""
        return self._granted.grant

    def learn(self, given: Granted) -> None:
        """Take a newer grant of the same attempt: the unit may lead no more."""
        self._granted = given

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Read the bag of another unit or application. Raises `Refused`."""
        event_id = self.grant.event.id
        try:
            bag = await self._host.call(
                lambda token: self._host.api.read_bag(token, event_id, relation, owner), what="read a bag"
            )
        except errors.PermissionDenied as error:
            raise Refused(f"permission denied: {error}") from error
        except errors.Error as error:
            raise Refused(str(error)) from error
        return bag.data

    async def read_secret(self, secret: str, revision: int) -> Content:
        """Read a revision of a secret. Raises `Refused`."""
        event_id = self.grant.event.id
        try:
            found = await self._host.call(
                lambda token: self._host.api.read_secret(token, event_id, secret, revision=revision),
                what="read a secret",
            )
        except errors.NotFound as error:
            raise Refused(f'secret "{secret}" not found') from error
        except errors.PermissionDenied as error:
            raise Refused(f"permission denied: {error}") from error
        except errors.Error as error:
            raise Refused(str(error)) from error
        return Content(revision=found.revision, values=found.content)

    async def is_leader(self) -> bool:
        """Return whether the unit leads; ask the server if the last answer is too old. Raises `Refused`."""
        if self.grant.leadership.leads and not self._granted.leads:
            try:
                following = await ending.next_event(self._host, self.grant.unit_id)
            except errors.Error as error:
                raise Refused(f"the server failed to tell whether the unit leads: {error}") from error
            if not isinstance(following, Granted) or not self._granted.is_same(following.grant):
                return False
            self._learn(following)
        return self._granted.leads

    async def set_status(self, status: Status) -> None:
        """Report the unit's status. Raises `Refused`."""
        await self._say(status=UnitStatus(name=status.name, message=status.message))

    async def set_application_status(self, status: Status) -> None:
        """Report the application's status. Raises `Refused`."""
        await self._say(application_status=UnitStatus(name=status.name, message=status.message))

    async def set_version(self, version: str) -> None:
        """Report the version of the workload. Raises `Refused`."""
        await self._say(workload_version=version)

    async def log(self, level: str, message: str) -> None:
        """Log a line. A task's line goes to the task's log, because it belongs to no event; debug lines are dropped."""
        if self.grant.task is None:
            await self.journal.log(level, message)
        elif level not in _QUIET:
            await self.journal.log("INFO", f"{level}: {message}")

    async def tell(self, message: str) -> None:
        """Add a line to the log of the task."""
        await self.journal.log("INFO", message)

    async def declared(self) -> Declared:
        """Return what the charm in the unit's folder declares. Raises `Refused`."""
        return await asyncio.to_thread(_declared, self._folder)

    async def _say(
        self,
        *,
        status: UnitStatus | None = None,
        application_status: UnitStatus | None = None,
        workload_version: str | None = None,
    ) -> None:
        try:
            await self._host.call(
                lambda token: self._host.api.set_status(
                    token,
                    self.grant.unit_id,
                    status=status,
                    application_status=application_status,
                    workload_version=workload_version,
                ),
                what="set a status",
            )
        except errors.Error as error:
            raise Refused(str(error)) from error

    async def _send(self, lines: Sequence[UnitLogLine]) -> None:
        task = self.grant.task
        if task is None:
            await self._host.append_logs(self.grant.unit_id, lines)
            return
        first, texts = lines[0].number, [line.text for line in lines]
        await self._host.call(
            lambda token: self._host.api.append_task_log(token, task.id, first, texts), what="append lines of a task"
        )


def _declared(folder: UnitFolder) -> Declared:
    texts = {}
    for name in metadata.READ_FILES:
        path = folder.charm / name
        try:
            if path.is_file() and path.stat().st_size <= metadata.MAX_MANIFEST_BYTES:
                texts[name] = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"{name} cannot be read: {error}") from error
    try:
        manifest, _ = metadata.read_manifest(texts)
    except core_errors.CharmRefused as error:
        raise Refused(str(error)) from error
    paths = {name: folder.charm / resource.path for name, resource in manifest.resources.items()}
    return Declared(
        bindings=frozenset((*manifest.endpoints, *manifest.bindings)),
        storages=frozenset(manifest.storages),
        resources={name: str(path) if path.is_file() else None for name, path in paths.items()},
    )
