"""Pushes machines from files: a few one by one, each with a line of output, many by one call."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tinkwell.cli import failure
from tinkwell.cli.document import files
from tinkwell.cli.shell import output, progress
from tinkwell.core.errors import Violation
from tinkwell.core.value import document, kubernetes, parse

if TYPE_CHECKING:
    from tinkwell.client import BulkChange, Client
    from tinkwell.client.errors import Error

Parts = Sequence[files.Part]

# The most machines that are pushed one by one, each with a line of output.
MAX_SINGLE = 100

# The server checks metadata and network separately; this limit refuses a machine that no message can hold.
_MAX_MACHINE_BYTES = 2 * document.MAX_DOCUMENT_BYTES + 1024
# How errors name one of many machines, before its field or before the whole text.
_NAME = re.compile(r"machines\[(\d+)\](?:: |\.data(?:\.|$)|\.)")


async def each(client: "Client", parts: Parts, chosen: output.Format) -> None:
    """Push one machine after another, and write the result of each. The first refused machine ends the command."""
    pushed: list[dict[str, Any]] = []
    try:
        for part in parts:
            result = await _push(client, part)
            pushed.append(result)
            if chosen is output.Format.TABLE:
                output.line(f"{result['id']}  version {result['version']}  {output.revision(result['revision'])}")
    except failure.Failure as error:
        if pushed:
            raise failure.Failure(*error.sentences, _pushed(len(pushed), parts)) from error
        raise
    if chosen is not output.Format.TABLE:
        output.whole(pushed if len(pushed) > 1 else pushed[0], chosen)


async def many(client: "Client", parts: Parts, chosen: output.Format) -> None:
    """Push all machines by one call, show its progress, and write the sums in one line."""
    import asyncio  # it costs start-up time, see main

    from tinkwell.client import errors  # gRPC costs start-up time, see main

    machines = _Machines(parts)
    stored = 0
    with progress.bar("Pushing machines", len(parts)) as show:

        def note(done: "BulkChange") -> None:
            nonlocal stored
            stored = done.stored
            show(stored)

        try:
            done = await client.hardware.push_many(machines, on_progress=note)
        except errors.Error as error:
            raise _explain(error, parts, stored) from error
        except asyncio.CancelledError:
            output.note(f"Interrupted: at least {_pushed(stored, parts)}; push again to go on")
            raise
    if machines.failure is not None:
        raise failure.Failure(*machines.failure.sentences, _pushed(done.stored, parts))
    if chosen is output.Format.TABLE:
        changed = f"{done.changed} of them changed, revision {done.revision}" if done.changed else "all unchanged"
        output.line(f"{done.stored} machines pushed, {changed}")
    else:
        output.whole(done.to_json(), chosen)


class _Machines:
    """Iterates over the machines in the form that the client takes, up to the first part that is no machine."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.failure: failure.Failure | None = None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for part in self._parts:
            try:
                machine = _machine(part)
            except failure.Failure as error:
                self.failure = error
                return
            yield machine


async def _push(client: "Client", part: files.Part) -> dict[str, Any]:
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    machine = _machine(part)
    try:
        change = await client.hardware.push(machine)
    except errors.InvalidField as error:
        raise part.explain(error.violations) from error
    except errors.AlreadyExists as error:
        raise failure.Failure(f"{part.place}: {error.message}") from error
    return {"id": machine["id"], **change.to_json()}


def _machine(part: files.Part) -> dict[str, Any]:
    if not isinstance(part.value, dict):
        hint = "; write it as JSON or YAML" if isinstance(part.value, str) else ""
        raise failure.Failure(f"{part.place}: a machine is an object, not {document.describe(part.value)}{hint}")
    machine = {key: content for key, content in part.value.items() if key != "metadata"}
    metadata = part.value.get("metadata")
    text, metadata_text = document.dump_json(machine), document.dump_json(metadata)
    if len(text.encode()) + len(metadata_text.encode()) > _MAX_MACHINE_BYTES:
        raise failure.Failure(f"{part.place}: a machine may have at most 1 MiB of metadata and 1 MiB of network")
    if ("$" in text or "{{" in text) and (found := list(_placeholders("", machine))):
        raise part.explain(found)
    # Metadata is sent as text, which keeps its numbers as they are written; the rest has only whole numbers.
    plain: dict[str, Any] = json.loads(text)
    plain["metadata"] = metadata_text if isinstance(metadata, dict) else metadata
    return plain


def _placeholders(path: str, value: document.JsonValue) -> Iterator[Violation]:
    """Find placeholders that are still to be filled in, in a file from which other programs make machines."""
    match value:
        case str() if told := kubernetes.placeholder(value):
            yield Violation(path, told)
        case dict():
            for name, item in value.items():
                yield from _placeholders(parse.child(path, name), item)
        case list():
            for index, item in enumerate(value):
                yield from _placeholders(parse.child(path, index), item)


def _explain(error: "Error", parts: Parts, stored: int) -> failure.Failure:
    """Name the mistake, its place, and the number of stored machines, which are all before the wrong one."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    named = _NAME.match(error.violations[0].field if isinstance(error, errors.InvalidField) else error.message)
    if named is None:
        told = f"at least {_pushed(stored, parts)}; push again to go on"
        return failure.Failure(failure.describe(error), *([told] if stored else []))
    place = int(named[1])
    part = parts[place]
    if isinstance(error, errors.InvalidField):
        violations = (Violation(_NAME.sub("", each.field, count=1), each.description) for each in error.violations)
        sentences = part.explain(violations).sentences
    else:
        sentences = (f"{part.place}: {error.message[named.end() :]}",)
    return failure.Failure(*sentences, *([_pushed(place, parts)] if place else []))


def _pushed(count: int, parts: Parts) -> str:
    return f"{count} of {len(parts)} machines were pushed"
