"""The log as it is in the end, read from the table, and kept in a file for people."""

import datetime
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import asyncpg

from support.chaos import session
from support.chaos.ledger import digest, find_token
from support.history.record import Era, History, Row, Watcher
from tinkwell.core.event.retention import StepFailed

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_ROWS = """
    SELECT revision, id::text, resource_type, coalesce(resource_id::text, ''), coalesce(parent_id::text, ''),
           event_type, name, version, created_at, actor, data::text
      FROM events WHERE revision >= $1 AND revision < $2 ORDER BY revision
"""
_PAGE = 2_000


async def read_rows(database_url: str, *, first: int = 0, end: int = 1 << 62) -> list[Row]:
    """Read the events from a revision up to but not including another one. Raises `StepFailed` as retention does."""
    try:
        async with (
            session.connected(database_url, command_seconds=60) as connection,
            connection.transaction(readonly=True),
        ):
            return [_row(record) async for record in connection.cursor(_ROWS, first, end, prefetch=_PAGE)]
    except session.ERRORS as error:
        raise StepFailed(str(error)) from error


def _row(record: asyncpg.Record) -> Row:
    revision, id_, resource_type, resource_id, parent_id, event_type, name, version, created_at, actor, data = record
    microseconds = (created_at - _EPOCH) // _MICROSECOND
    return Row(
        revision=revision,
        # In the order in which watchers hash what they receive, with protobuf's names of the kinds.
        digest=digest(
            id_,
            f"RESOURCE_TYPE_{resource_type}",
            resource_id,
            parent_id,
            f"EVENT_TYPE_{event_type}",
            name,
            version,
            microseconds,
            actor,
            data,
        ),
        # There are few of these, and hundreds of thousands of rows.
        resource_type=sys.intern(resource_type),
        resource_id=resource_id,
        parent_id=sys.intern(parent_id),
        event_type=sys.intern(event_type),
        name=sys.intern(name),
        version=version,
        token=find_token(data),
        created_at=microseconds / 1e6,
    )


def write(history: History, path: Path) -> None:
    """Write the history as lines of JSON: the rows, the transactions, then each watcher's streams."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:

        def put(**fields: object) -> None:
            file.write(json.dumps(fields, default=str) + "\n")

        before: Sequence[Row] = ()
        for era in history.eras:
            _write_era(era, before, put)
            before = era.rows
        for transaction in history.transactions:
            changes = [(change.token, change.event_type, change.revision) for change in transaction.changes]
            put(writer=transaction.writer, outcome=transaction.outcome.value, changes=changes)
        for watcher in history.watchers:
            _write_watcher(watcher, put)


def _write_era(era: Era, before: Sequence[Row], put: Callable[..., None]) -> None:
    """Write what is new in a log, and which revisions of the former one it lacks."""
    known, kept = set(map(id, before)), set(map(id, era.rows))
    put(
        history_id=era.history_id,
        oldest=era.oldest,
        begun_at=era.begun_at,
        whole_at=era.whole_at,
        holds_until=era.holds_until,
        is_piecemeal=era.is_piecemeal,
        lacks=[row.revision for row in before if id(row) not in kept],
    )
    for row in era.rows:
        if id(row) not in known:
            put(revision=row.revision, token=row.token, event=row.name, resource=row.resource_id, version=row.version)


def _write_watcher(watcher: Watcher, put: Callable[..., None]) -> None:
    for number, stream in enumerate(watcher.streams):
        put(
            watcher=watcher.name,
            stream=number,
            start=stream.start,
            live_at=stream.live_at,
            end=stream.end,
            why=stream.reason,
        )
        for first, last, bookmark in stream.responses():
            put(watcher=watcher.name, stream=number, revisions=list(stream.revisions[first:last]), bookmark=bookmark)
        put(watcher=watcher.name, stream=number, end=stream.end, reason=stream.reason)
    if watcher.handed is not None:
        put(watcher=watcher.name, handed_up_to=watcher.handed_up_to, handed=list(watcher.handed))
