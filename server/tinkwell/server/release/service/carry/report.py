"""Checks reports about operations one by one. The rules decide on their effects."""

import dataclasses
from collections.abc import Sequence

from tinkwell.core import errors
from tinkwell.core.release import plan
from tinkwell.core.release import report as told
from tinkwell.core.release.lifecycle_event.run import MAX_HANDLERS
from tinkwell.core.release.manifest import model
from tinkwell.core.release.manifest import name as manifest_name
from tinkwell.core.release.report import (
    FinishReport,
    LifecycleReport,
    NodeReport,
    RemovedReport,
    Report,
    ResourceReport,
    StepReport,
)
from tinkwell.core.secret import text as secret_text
from tinkwell.core.value import check as checking
from tinkwell.core.value import document, member_name, parse

MAX_REPORTS = 500
MAX_NAME_BYTES = 1024
# The limit for the path of a file in a chart.
MAX_FILE_BYTES = member_name.MAX_PATH_BYTES
MAX_ENTRYPOINT_BYTES = 4 * 1024
MAX_ARGS = 1_000
MAX_ARGS_BYTES = 64 * 1024
MAX_CAUSE_BYTES = 16 * 1024
MAX_RESULT_BYTES = 3 * 1024 * 1024
MAX_ORDINAL = 10_000
MAX_LINE = 2**31 - 1
# Nothing takes longer than an operation may take.
MAX_SECONDS = 1e9
# The pointers of a manifest and those of an image.
MAX_POINTERS = 2 * model.MAX_POINTERS
MAX_ATTEMPT = 2**31 - 1
# The exit codes of all platforms: signals may make them negative, and those of Windows are unsigned.
_LOWEST_EXIT_CODE = -(2**31)
_HIGHEST_EXIT_CODE = 2**32 - 1
_DOCUMENT_BYTES = {"init": 1024 * 1024, "config": 3 * 1024 * 1024, "state": 1024 * 1024}


def size(report: Report) -> int:
    """Return the number of characters in the documents of a report."""
    match report:
        case ResourceReport():
            return sum(len(getattr(report, name) or "") for name in _DOCUMENT_BYTES)
        case FinishReport():
            return len(report.cause) + len(report.result)
        case _:
            return 0


def check(reports: Sequence[Report]) -> Sequence[Report]:
    """Check a group of reports, and return it with the drift that a result contains.

    Raises `errors.InvalidField` with paths such as `reports[2].step.message`.
    """
    if len(reports) > MAX_REPORTS:
        raise errors.InvalidField.of("reports", f"there are {len(reports):,}; at most {MAX_REPORTS} may be")
    checks = checking.Checks()
    for index, report in enumerate(reports):
        _check(checks, parse.child("reports", index), report)
    checks.finish()
    return [_with_drift(report) if isinstance(report, FinishReport) else report for report in reports]


def _check(checks: checking.Checks, field: str, report: Report) -> None:
    match report:
        case NodeReport():
            _check_path(checks, f"{field}.node.path", report.path)
            checks.take(_parse_message, f"{field}.node.message", report.message)
        case StepReport():
            _check_step(checks, f"{field}.step", report)
        case ResourceReport():
            _check_resource(checks, f"{field}.resource", report)
        case RemovedReport():
            _check_path(checks, f"{field}.removed", report.path)
        case LifecycleReport():
            _check_lifecycle(checks, f"{field}.lifecycle", report)
        case FinishReport():
            for name, text, limit in (
                ("cause", report.cause, MAX_CAUSE_BYTES),
                ("result", report.result, MAX_RESULT_BYTES),
            ):
                if text:
                    checks.take(_parse_document, f"{field}.finish.{name}", text, max_bytes=limit)
        case _:
            pass


def _with_drift(report: FinishReport) -> FinishReport:
    if not report.result:
        return report
    result = document.parse_json_object("result", report.result, max_bytes=MAX_RESULT_BYTES)
    return dataclasses.replace(report, drift=told.drift_of(result))


def _check_path(checks: checking.Checks, field: str, path: str) -> None:
    checks.take(parse.parse_text, field, path, max_bytes=plan.MAX_PATH_BYTES)


def _check_step(checks: checking.Checks, field: str, report: StepReport) -> None:
    _check_path(checks, f"{field}.path", report.path)
    checks.take(parse.parse_int_range, f"{field}.ordinal", report.ordinal, low=1, high=MAX_ORDINAL)
    checks.take(parse.parse_int_range, f"{field}.attempt", report.attempt, low=0, high=MAX_ATTEMPT)
    checks.take(_parse_message, f"{field}.message", report.message)
    call = report.call
    for name, limit in (("name", MAX_NAME_BYTES), ("description", MAX_NAME_BYTES), ("image", MAX_NAME_BYTES)):
        checks.take(_parse_text, f"{field}.{name}", getattr(call, name), max_bytes=limit)
    checks.take(_parse_text, f"{field}.entrypoint", call.entrypoint, max_bytes=MAX_ENTRYPOINT_BYTES)
    args = call.args or ()
    if len(args) > MAX_ARGS or sum(len(arg.encode()) for arg in args) > MAX_ARGS_BYTES:
        checks.refuse(f"{field}.args", f"at most {MAX_ARGS:,} of {MAX_ARGS_BYTES:,} bytes in all are allowed")
    if any("\0" in arg for arg in args):
        checks.refuse(f"{field}.args", "hold the NUL character, which cannot be stored")
    if report.exit_code is not None and not _LOWEST_EXIT_CODE <= report.exit_code <= _HIGHEST_EXIT_CODE:
        checks.refuse(f"{field}.exit_code", f"must be from {_LOWEST_EXIT_CODE:,} to {_HIGHEST_EXIT_CODE:,}")


def _check_resource(checks: checking.Checks, field: str, report: ResourceReport) -> None:
    _check_path(checks, f"{field}.path", report.path)
    checks.take(parse.parse_text, f"{field}.type", report.type, max_bytes=MAX_NAME_BYTES)
    checks.take(_parse_text, f"{field}.image_id", report.image_id or "", max_bytes=MAX_NAME_BYTES)
    for name, limit in _DOCUMENT_BYTES.items():
        if text := getattr(report, name):
            checks.take(_parse_document, f"{field}.{name}", text, max_bytes=limit)
    if len(report.sensitive) > MAX_POINTERS:
        checks.refuse(f"{field}.sensitive", f"there are {len(report.sensitive):,}; at most {MAX_POINTERS} may be")
    for index, text in enumerate(report.sensitive[:MAX_POINTERS]):
        checks.take(manifest_name.parse_pointer, parse.child(f"{field}.sensitive", index), text)
    if report.secrets:
        checks.take(_parse_secrets, f"{field}.secrets", report.secrets)


def _check_lifecycle(checks: checking.Checks, field: str, report: LifecycleReport) -> None:
    checks.take(parse.parse_text, f"{field}.event", report.event, max_bytes=MAX_NAME_BYTES)
    checks.take(_parse_text, f"{field}.chart", report.chart, max_bytes=plan.MAX_PATH_BYTES)
    checks.take(_parse_message, f"{field}.message", report.message)
    checks.take(_parse_number, f"{field}.seconds", report.seconds, high=MAX_SECONDS)
    if len(report.handlers) > MAX_HANDLERS:
        checks.refuse(f"{field}.handlers", f"there are {len(report.handlers):,}; at most {MAX_HANDLERS:,} may be")
    for index, handler in enumerate(report.handlers[:MAX_HANDLERS]):
        place = parse.child(f"{field}.handlers", index)
        checks.take(_parse_text, f"{place}.chart", handler.chart, max_bytes=plan.MAX_PATH_BYTES)
        checks.take(_parse_text, f"{place}.file", handler.file, max_bytes=MAX_FILE_BYTES)
        checks.take(parse.parse_int_range, f"{place}.line", handler.line, low=0, high=MAX_LINE)
        checks.take(_parse_number, f"{place}.weight", handler.weight, high=1.0)
        checks.take(_parse_number, f"{place}.seconds", handler.seconds, high=MAX_SECONDS)


def _parse_number(field: str, number: float, *, high: float) -> float:
    """Check that a number lies between 0 and `high`. NaN is refused."""
    if not 0.0 <= number <= high:
        raise errors.InvalidField.of(field, f"is {number}; it must be from 0 to {high:,.0f}")
    return number


def _parse_document(field: str, text: str, *, max_bytes: int) -> str:
    document.parse_json_object(field, text, max_bytes=max_bytes)
    return text


def _parse_secrets(field: str, secrets: tuple[str, ...]) -> tuple[str, ...]:
    secret_text.texts_of((field, each) for each in secrets)
    return secrets


def _parse_message(field: str, text: str) -> str:
    """Check the message of a node or step. Any wording is accepted, so that no report fails for it."""
    if len(text) > told.MAX_MESSAGE:
        raise errors.InvalidField.of(field, f"has {len(text):,} characters; at most {told.MAX_MESSAGE:,} are allowed")
    if "\0" in text:
        raise errors.InvalidField.of(field, "holds the NUL character, which cannot be stored")
    return text


def _parse_text(field: str, text: str, *, max_bytes: int) -> str:
    """Check the name that an image gave to a step. Only texts that cannot be stored are refused."""
    parse.check_size(field, text, max_bytes=max_bytes)
    if "\0" in text:
        raise errors.InvalidField.of(field, "holds the NUL character, which cannot be stored")
    return text
