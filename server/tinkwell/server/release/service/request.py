"""Requests that begin an operation: checked in full before anything is looked up."""

import dataclasses
from collections.abc import Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.release import name as names
from tinkwell.core.release import record
from tinkwell.core.release.manifest import reader
from tinkwell.core.value import check, document, parse
from tinkwell.server.release.store.request import Asked

MAX_TIMEOUT_SECONDS = 7 * 86_400
MAX_PARALLEL = 256
MAX_HISTORY = 1_000
MAX_TEXT_BYTES = 1024
MAX_FILE_NAME_BYTES = 255
MAX_FILES_BYTES = 2 * 1024 * 1024
MAX_VARIABLES_BYTES = 1024 * 1024
MAX_REVISION = 2**31 - 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What every request has that begins an operation of a release. Options that are 0 stand for their defaults."""

    operation_id: str
    namespace: str
    name: str
    options: record.Options
    reason: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Apply(Request):
    """Manifests to bring about, as files by name and text, with variables as JSON text, empty for none."""

    files: Sequence[tuple[str, str]]
    variables: str
    description: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rollback(Request):
    """A revision to bring about again; 0 means the last before the newest that was deployed."""

    revision: int
    description: str = ""


def parse_apply(request: Apply) -> Asked:
    """Check an Apply, its manifests included; raises `errors.InvalidField`."""
    checks = check.Checks()
    checks.take(_parse_text, "description", request.description)
    variables = checks.take(_parse_variables, "variables", request.variables)
    for index, (file_name, _) in enumerate(request.files):
        field = f"{parse.child('files', index)}.name"
        checks.take(parse.parse_text, field, file_name, max_bytes=MAX_FILE_NAME_BYTES)
        if file_name in {other for other, _ in request.files[:index]}:
            checks.refuse(field, f"{parse.show(file_name)} is the name of another file, too")
    if not request.files:
        checks.refuse("files", "is empty; give at least one manifest")
    if (size := sum(len(text.encode()) for _, text in request.files)) > MAX_FILES_BYTES:
        checks.refuse("files", f"have {size:,} bytes in all; at most {MAX_FILES_BYTES:,} are allowed")
    asked = _parse(checks, request, "APPLY", description=request.description)
    reader.read(request.files)
    files = document.dump_json(dict(request.files))
    return dataclasses.replace(asked, source=f'{{"files":{files},"variables":{variables}}}')


def parse_rollback(request: Rollback) -> Asked:
    """Check a Rollback; raises `errors.InvalidField`."""
    checks = check.Checks()
    checks.take(_parse_text, "description", request.description)
    checks.take(parse.parse_int_range, "revision", request.revision, low=0, high=MAX_REVISION)
    return _parse(checks, request, "ROLLBACK", description=request.description, revision=request.revision)


def parse_uninstall(request: Request) -> Asked:
    """Check an Uninstall; raises `errors.InvalidField`."""
    return _parse(check.Checks(), request, "UNINSTALL")


def parse_resume(request: Request) -> Asked:
    """Check a Resume; raises `errors.InvalidField`."""
    return _parse(check.Checks(), request, "RESUME")


def parse_reason(field: str, text: str) -> str:
    """Check why something is asked for; raises `errors.InvalidField`."""
    return _parse_text(field, text)


def _parse(checks: check.Checks, request: Request, call: str, **more: object) -> Asked:
    asked = Asked(
        operation_id=checks.take(parse.parse_uuid, "operation_id", request.operation_id),
        namespace=checks.take(names.parse_namespace, "namespace", request.namespace),
        name=checks.take(names.parse_name, "name", request.name),
        options=_parse_options(checks, request.options),
        reason=checks.take(parse_reason, "reason", request.reason),
        call=document.dump_json({"call": call, **more}),
        source=None,
        description=str(more["description"]) if "description" in more else None,
    )
    checks.finish()
    return asked


def _parse_options(checks: check.Checks, given: record.Options) -> record.Options:
    defaults = record.Options()
    limits: Mapping[str, int] = {
        "timeout_seconds": MAX_TIMEOUT_SECONDS,
        "parallel": MAX_PARALLEL,
        "history_max": MAX_HISTORY,
    }
    chosen = {name: getattr(given, name) or getattr(defaults, name) for name in limits}
    for name, high in limits.items():
        checks.take(parse.parse_int_range, f"options.{name}", chosen[name], low=1, high=high)
    readiness, timeout = given.readiness_timeout_seconds, chosen["timeout_seconds"]
    if not 0 <= readiness <= timeout:
        told = f"is {readiness:,}; it must be from 0 to the {timeout:,} seconds of the whole operation"
        checks.refuse("options.readiness_timeout_seconds", told)
    return dataclasses.replace(given, **chosen)


def _parse_text(field: str, text: str) -> str:
    return parse.parse_text(field, text, max_bytes=MAX_TEXT_BYTES, allow_empty=True)


def _parse_variables(field: str, text: str) -> str:
    """Return variables as they are stored; a text that was refused is told of when the checks finish."""
    parsed = document.parse_json_object(field, text or "{}", max_bytes=MAX_VARIABLES_BYTES)
    return document.dump_json(parsed)


def parse_release(namespace: str, name: str) -> tuple[str, str]:
    """Check which release a request is about; raises `errors.InvalidField`."""
    checks = check.Checks()
    namespace = checks.take(names.parse_namespace, "namespace", namespace)
    name = checks.take(names.parse_name, "name", name)
    checks.finish()
    return namespace, name


def title(namespace: str, name: str) -> str:
    """Return a release as messages call it."""
    return name if namespace == names.DEFAULT_NAMESPACE else f"{namespace}/{name}"


def missing(namespace: str, name: str) -> errors.NotFound:
    """Return the error for a release that does not exist."""
    return errors.NotFound("RELEASE", title(namespace, name))
