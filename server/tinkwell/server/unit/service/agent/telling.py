"""Further calls of agents: they set a unit's status, append to its log, read bags, and fetch charms."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.unit import limit, name
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.service.delivery import fence
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.agent import hold, leader, reading, told
from tinkwell.server.unit.store.agent.own import Bag
from tinkwell.server.unit.store.agent.told import NewLine

STATUSES = ("unknown", "maintenance", "waiting", "blocked", "active")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "STDOUT", "STDERR")
MAX_LINES = 1_000
MAX_ATTEMPT = 2**31 - 1
_MAX_MESSAGE_CHARACTERS = 1_000
_MAX_VERSION_BYTES = 200
_MAX_DIGEST_BYTES = 200
_MAX_RELATION = 2**63 - 1


@dataclasses.dataclass(frozen=True, slots=True)
class Status:
    """The status that a charm sets for its unit or its application."""

    name: str
    message: str = ""


class Telling:
    """Implements SetStatus, AppendLogs, ReadBag and FetchCharm."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def set_status(
        self,
        unit_id: str,
        *,
        status: Status | None,
        application_status: Status | None,
        workload_version: str | None,
        lease_token: int,
        actor: str,
    ) -> None:
        """Write the given parts of a unit's status; the others stay.

        Raises `errors.InvalidField`, `errors.NotFound`, `errors.LeaseLost`, and `errors.NotLeader` if a unit that is
        not the leader sets the application's status.
        """
        unit_id = parse.parse_uuid("unit_id", unit_id)
        fence.parse_token(lease_token)
        _check_status(status, application_status, workload_version)

        async def work(transaction: Transaction) -> None:
            transaction.changed = False
            found = await hold.find(transaction.fetch, unit_id)
            if found is None:
                raise errors.NotFound("UNIT", unit_id)
            if application_status is not None:
                await delivery.lock_application(transaction, found.application_id)
            held = await self._hold(transaction, unit_id, lease_token)
            if application_status is not None:
                await _set_application_status(transaction, found, held, application_status)
            await told.set_status(
                transaction,
                unit_id,
                name=status.name if status is not None else None,
                message=status.message if status is not None else None,
                workload_version=workload_version,
            )

        await self._database.write(work, actor=actor)

    @staticmethod
    def check_count(count: int) -> None:
        """Refuse more lines than one call may send, before any is checked. Raises `errors.InvalidField`."""
        if count > MAX_LINES:
            raise errors.InvalidField.of("lines", f"there are {count:,}; at most {MAX_LINES:,} may come at once")

    async def append(self, unit_id: str, lines: Sequence[NewLine], *, lease_token: int, actor: str) -> int:
        """Add lines to a unit's log, and return the number of accepted lines. A line that exists stays unchanged.

        Lines beyond the limit are left out. Raises `errors.NotFound`, `errors.LeaseLost`, and `errors.InvalidField`,
        also for lines of attempts that the unit has not had.
        """
        unit_id = parse.parse_uuid("unit_id", unit_id)
        fence.parse_token(lease_token)
        self.check_count(len(lines))
        checks = check.Checks()
        for index, line in enumerate(lines):
            _check_line(checks, parse.child("lines", index), line)
        checks.finish()
        kept = [line for line in lines if line.number <= limit.LOG_LINES_PER_EVENT]

        async def work(transaction: Transaction) -> None:
            transaction.changed = False
            await self._hold(transaction, unit_id, lease_token)
            _check_attempts(lines, await told.attempts(transaction, unit_id, {line.ordinal for line in kept}))
            await told.append(transaction, unit_id, kept)

        if kept:
            await self._database.write(work, actor=actor)
        return len(kept)

    async def read_bag(self, event_id: str, *, relation: int, owner: str, lease_token: int) -> Bag:
        """Return a bag that the unit of a running event may read. An owner that has written nothing has an empty bag.

        Raises `errors.InvalidField`, `errors.LeaseLost` for an event that does not run under the lease, and
        `errors.NotFound` for a bag that the unit may not read or that cannot exist.
        """
        checks = check.Checks()
        event_id = checks.take(parse.parse_uuid, "event_id", event_id)
        checks.take(parse.parse_int_range, "relation", relation, low=1, high=_MAX_RELATION)
        checks.take(name.parse_unit if "/" in owner else name.parse_application, "owner", owner)
        checks.finish()
        fence.parse_token(lease_token)
        fetch = self._database.fetch
        found = await reading.bag(fetch, event_id, lease_token=lease_token, relation=relation, owner=owner)
        if found is not None:
            return found
        if not await reading.is_running(fetch, event_id, lease_token=lease_token):
            raise errors.LeaseLost(lease_token, f"unit event or task {event_id} does not run under it")
        raise errors.NotFound("BAG", f"of {owner} in relation {relation}")

    async def fetch_charm(self, digest: str, *, lease_token: int) -> AsyncGenerator[bytes, None]:
        """Yield a charm's package in parts, if a unit of the charm is held under the caller's lease.

        Raises `errors.InvalidField`, `errors.LeaseLost`, and `errors.NotFound` for any other charm.
        """
        digest = parse.parse_text("digest", digest, max_bytes=_MAX_DIGEST_BYTES)
        found = await hold.find_lease(self._database.fetch, fence.parse_token(lease_token))
        if found is None or not found.is_live:
            raise errors.LeaseLost(lease_token)
        if not await reading.holds_charm(self._database.fetch, found.id, digest):
            raise errors.NotFound("CHARM", digest)
        async with contextlib.aclosing(reading.package(self._database, digest)) as parts:
            async for part in parts:
                yield part

    @staticmethod
    async def _hold(transaction: Transaction, unit_id: str, lease_token: int) -> hold.Held:
        if not await delivery.lock_unit(transaction, unit_id):
            raise errors.NotFound("UNIT", unit_id)
        held = await hold.read(transaction, unit_id, lease_token=lease_token)
        fence.check_end(held, lease_token)
        if held.is_dead:
            # The unit was removed by force, so no later call about it is accepted.
            raise errors.NotFound("UNIT", unit_id)
        return held


async def _set_application_status(
    transaction: Transaction, found: hold.FoundUnit, held: hold.Held, status: Status
) -> None:
    if not (held.leads and await leader.has_leader(transaction, found.application_id)):
        raise errors.NotLeader(found.unit_id)
    await told.set_application_status(transaction, found.application_id, status.name, status.message)


def _check_status(status: Status | None, application_status: Status | None, workload_version: str | None) -> None:
    checks = check.Checks()
    for field, given in (("status", status), ("application_status", application_status)):
        if given is None:
            continue
        if given.name not in STATUSES:
            checks.refuse(f"{field}.name", f"{parse.show(given.name)} is none of {', '.join(STATUSES)}")
        if len(given.message) > _MAX_MESSAGE_CHARACTERS or "\0" in given.message:
            checks.refuse(f"{field}.message", f"must be text of at most {_MAX_MESSAGE_CHARACTERS:,} characters")
    if workload_version:
        checks.take(parse.parse_text, "workload_version", workload_version, max_bytes=_MAX_VERSION_BYTES)
    checks.finish()


def _check_attempts(lines: Sequence[NewLine], attempts: Mapping[int, int]) -> None:
    """Refuse lines of events or attempts that do not exist.

    Without this check an agent could store any number of lines.
    """
    checks = check.Checks()
    for index, line in enumerate(lines):
        field = parse.child("lines", index)
        if line.number <= limit.LOG_LINES_PER_EVENT and line.ordinal not in attempts:
            checks.refuse(f"{field}.ordinal", f"the unit has no event {line.ordinal:,}")
        elif line.number <= limit.LOG_LINES_PER_EVENT and line.attempt > attempts[line.ordinal]:
            checks.refuse(f"{field}.attempt", f"event {line.ordinal:,} has had no attempt {line.attempt:,}")
    checks.finish()


def _check_line(checks: check.Checks, field: str, line: NewLine) -> None:
    checks.take(parse.parse_int_range, f"{field}.ordinal", line.ordinal, low=1, high=_MAX_RELATION)
    checks.take(parse.parse_int_range, f"{field}.attempt", line.attempt, low=1, high=MAX_ATTEMPT)
    checks.take(parse.parse_int_range, f"{field}.number", line.number, low=1, high=MAX_ATTEMPT)
    if line.level not in LEVELS:
        checks.refuse(f"{field}.level", f"{parse.show(line.level)} is none of {', '.join(LEVELS)}")
    if "\0" in line.text or len(line.text.encode(errors="surrogatepass")) > limit.LOG_LINE_BYTES:
        checks.refuse(f"{field}.text", f"must be text of at most {limit.LOG_LINE_BYTES:,} bytes, without U+0000")
