"""Requests that begin an operation. All fields are checked before any query."""

import dataclasses
from collections.abc import Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.release import name as names
from tinkwell.core.release import record
from tinkwell.core.release import sensitive as places
from tinkwell.core.release.manifest import reader
from tinkwell.core.release.manifest.model import Manifest
from tinkwell.core.secret import document as secret_document
from tinkwell.core.secret import sensitive
from tinkwell.core.secret.mask import Masker
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
    """The fields of every request that begins an operation of a release.

    Options that are 0 stand for their defaults.
    """

    operation_id: str
    namespace: str
    name: str
    options: record.Options
    reason: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Apply(Request):
    """Manifests to apply, as files by name and text, with variables as JSON text, empty for none.

    `variable_files` are such JSON texts by name, and may contain expressions. `secret_variables` names variables.
    """

    files: Sequence[tuple[str, str]]
    variables: str
    variable_files: Sequence[tuple[str, str]] = ()
    secret_variables: Sequence[str] = ()
    description: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rollback(Request):
    """A revision to restore; 0 means the last before the newest that was deployed."""

    revision: int
    description: str = ""


def parse_apply(request: Apply, *, call: str = "APPLY") -> Asked:
    """Check an Apply, or another call with the same fields, including its manifests. Raises `errors.InvalidField`."""
    checks = check.Checks()
    checks.take(parse_short_text, "description", request.description)
    files: document.JsonObject = {}
    files.update(request.files)
    variables = _variables(checks, "variables", request.variables or "{}")
    source: document.JsonObject = {"files": files, "variables": variables}
    if request.variable_files:
        source |= {"variable_files": _variable_files(checks, request)}
    _check_names(checks, "files", request.files)
    if not request.files:
        checks.refuse("files", "is empty; give at least one manifest")
    if (size := sum(len(text.encode()) for _, text in request.files)) > MAX_FILES_BYTES:
        checks.refuse("files", f"have {size:,} bytes in all; at most {MAX_FILES_BYTES:,} are allowed")
    asked = parse_asked(checks, request, call, description=request.description)
    secret = sensitive.parse_names("secret_variables", request.secret_variables, variables)
    texts = secret_document.texts_at("variables", variables, secret) | _literals(reader.read(request.files))
    shown = without(asked, texts)
    return dataclasses.replace(
        shown,
        call=write_call(call, description=shown.description),
        source=source,
        sensitive=sensitive.within(("variables",), secret),
        secrets=texts,
    )


def parse_rollback(request: Rollback) -> Asked:
    """Check a Rollback; raises `errors.InvalidField`."""
    checks = check.Checks()
    checks.take(parse_short_text, "description", request.description)
    checks.take(parse.parse_int_range, "revision", request.revision, low=0, high=MAX_REVISION)
    return parse_asked(checks, request, "ROLLBACK", description=request.description, revision=request.revision)


def parse_uninstall(request: Request) -> Asked:
    """Check an Uninstall; raises `errors.InvalidField`."""
    return parse_asked(check.Checks(), request, "UNINSTALL")


def parse_resume(request: Request) -> Asked:
    """Check a Resume; raises `errors.InvalidField`."""
    return parse_asked(check.Checks(), request, "RESUME")


def parse_reason(field: str, text: str) -> str:
    """Check the reason of a request. Raises `errors.InvalidField`."""
    return parse_short_text(field, text)


def _literals(manifest: Manifest) -> frozenset[str]:
    """Return the secrets that are written literally in manifests."""
    written = manifest.as_json()
    return secret_document.texts_at("", written, places.of_written(written).secret)


def without(asked: Asked, texts: frozenset[str]) -> Asked:
    """Return a request without secrets in the fields that are shown.

    Raises `errors.InvalidField` for a secret in a name.
    """
    if not texts:
        return asked
    masker = Masker(texts)
    checks = check.Checks()
    for field, name in (("namespace", asked.namespace), ("name", asked.name)):
        if masker.finds(name):
            checks.refuse(field, "holds a secret, and is shown everywhere; choose another one")
    checks.finish()
    return dataclasses.replace(asked, description=masker.mask(asked.description), reason=masker.mask(asked.reason))


def write_call(call: str, **more: object) -> str:
    """Write the text that distinguishes a request from other requests about its release."""
    return document.dump_json({"call": call, **more})


def parse_asked(checks: check.Checks, request: Request, call: str, **more: object) -> Asked:
    """Check the fields that every request has, and finish the checks. `more` are this request's further fields."""
    asked = Asked(
        operation_id=checks.take(parse.parse_uuid, "operation_id", request.operation_id),
        namespace=checks.take(names.parse_namespace, "namespace", request.namespace),
        name=checks.take(names.parse_name, "name", request.name),
        options=_parse_options(checks, request.options),
        reason=checks.take(parse_reason, "reason", request.reason),
        call=write_call(call, **more),
        source=None,
        description=str(more.get("description", "")),
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
    if readiness < 0 or 0 < timeout < readiness:
        told = f"is {readiness:,}; it must be from 0 to the {timeout:,} seconds of the whole operation"
        checks.refuse("options.readiness_timeout_seconds", told)
    return dataclasses.replace(given, **chosen)


def parse_short_text(field: str, text: str) -> str:
    """Check a description; raises `errors.InvalidField`."""
    return parse.parse_text(field, text, max_bytes=MAX_TEXT_BYTES, allow_empty=True)


def _check_names(checks: check.Checks, field: str, files: Sequence[tuple[str, str]]) -> None:
    seen: set[str] = set()
    for index, (file_name, _) in enumerate(files):
        path = f"{parse.child(field, index)}.name"
        checks.take(parse.parse_text, path, file_name, max_bytes=MAX_FILE_NAME_BYTES)
        if file_name in seen:
            checks.refuse(path, f"{parse.show(file_name)} is the name of another file, too")
        seen.add(file_name)


def _variable_files(checks: check.Checks, request: Apply) -> list[document.JsonValue]:
    """Read files of variables. They count towards the limit of variables."""
    _check_names(checks, "variable_files", request.variable_files)
    size = sum(len(text.encode()) for _, text in (("", request.variables), *request.variable_files))
    if size > MAX_VARIABLES_BYTES:
        checks.refuse("variable_files", f"variables have {size:,} bytes in all; {MAX_VARIABLES_BYTES:,} are allowed")
    return [
        {"name": file_name, "variables": _variables(checks, f"{parse.child('variable_files', index)}.variables", text)}
        for index, (file_name, text) in enumerate(request.variable_files)
    ]


def _variables(checks: check.Checks, field: str, text: str) -> document.JsonObject:
    """Read variables. Wrong ones are noted in the checks."""
    try:
        return document.parse_json_object(field, text, max_bytes=MAX_VARIABLES_BYTES)
    except errors.InvalidField as error:
        checks.note(error)
        return {}


def parse_release(namespace: str, name: str) -> tuple[str, str]:
    """Check the namespace and name of a release. Raises `errors.InvalidField`."""
    checks = check.Checks()
    namespace = checks.take(names.parse_namespace, "namespace", namespace)
    name = checks.take(names.parse_name, "name", name)
    checks.finish()
    return namespace, name


def title(namespace: str, name: str) -> str:
    """Return the name of a release in the form that messages use."""
    return name if namespace == names.DEFAULT_NAMESPACE else f"{namespace}/{name}"


def missing(namespace: str, name: str) -> errors.NotFound:
    """Return the error for a release that does not exist."""
    return errors.NotFound("RELEASE", title(namespace, name))
