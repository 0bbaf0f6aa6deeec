"""The answers of resource images on their standard output: exactly one JSON document, whose objects are closed.

    init   {"state_action": COMMAND, "config_schema": {}?, "plugs": {NAME: PLUG}?, "tinkwell": EXTENSION?}
    state  {"status": "VALID", "state": {}}  |  {"status": "STALE", "staleState": {}?, "actions": [ACTION, …]}

Images have other authors, so an error names each broken rule and shows the beginning of the answer.
"""

import functools
import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from tinkwell.core import errors
from tinkwell.core.release.manifest import name
from tinkwell.core.release.manifest.model import MAX_POINTERS, MAX_TIMEOUT_SECONDS, TIMEOUTS
from tinkwell.core.release.manifest.rendered import parse_key
from tinkwell.core.release.protocol.request import PROTOCOL
from tinkwell.core.value import check, closed_object, document, image, parse
from tinkwell.core.value.document import JsonObject
from tinkwell.core.workflow import retry

MAX_ANSWER_BYTES = document.MAX_DOCUMENT_BYTES
MAX_SCHEMA_BYTES = 64 * 1024
MAX_ACTIONS = 1_000
MAX_ARGS = 1_000
MAX_ARG_BYTES = 64 * 1024
MAX_TEXT_BYTES = 1_024
MAX_POLL_SECONDS = 60 * 60
MAX_EXIT_CODE = 255
SHOWN_BYTES = 200

_INIT_FIELDS = ("state_action", "config_schema", "plugs", "tinkwell")
_PLUG_FIELDS = ("container_path", "optional", "writable")
_CALL_FIELDS = ("image", "entrypoint", "args")
_ACTION_FIELDS = ("name", "description", *_CALL_FIELDS)
_EXTENSION_FIELDS = (
    *("protocol", "destroy_action", "read_only_state", "timeouts"),
    *("retry", "readiness", "sensitive", "concurrency_key"),
)
_RETRY_FIELDS = ("attempts", "delay_seconds", "exit_codes")
_VALID_FIELDS = ("status", "state")
_VALID_HINTS = dict.fromkeys(("actions", "staleState"), "it is forbidden where status is VALID")
_STALE_FIELDS = ("status", "staleState", "actions")
_STALE_HINTS = {"state": "where status is STALE it is called staleState"}

_text = functools.partial(parse.parse_text, max_bytes=MAX_TEXT_BYTES)

T = TypeVar("T")


class WrongAnswer(Exception):
    """An answer breaks the protocol: `call` is `init` or `state`, `problems` name the broken rules."""

    def __init__(self, call: str, problems: tuple[str, ...], answer: bytes) -> None:
        self.call = call
        self.problems = problems
        self.answer = answer
        super().__init__(self.tell())

    def tell(self, mask: Callable[[str], str] = str) -> str:
        """Return the problems and the beginning of the answer. The answer is masked before it is cut."""
        shown = mask(self.answer.decode(errors="replace")).strip().encode()
        problems = "; ".join(self.problems)
        if not shown:
            return f"{self.call} breaks the protocol: {problems}"
        cut = parse.escape(shown[:SHOWN_BYTES].decode(errors="ignore")) + ("…" if len(shown) > SHOWN_BYTES else "")
        return f"{self.call} breaks the protocol: {problems}; it answered {cut}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a container. `image` is "" for the resource's own; `args` None means the image's own."""

    name: str
    description: str = ""
    image: str = ""
    entrypoint: str = ""
    args: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlugRequest:
    """A plug that an image asks for, and its path in the containers; the image also works without an optional one."""

    name: str
    container_path: str
    optional: bool = False
    writable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often an action is tried in all, the delay, and the exit codes that are retried; no codes mean any."""

    attempts: int = 1
    delay_seconds: int = retry.DEFAULT_DELAY_SECONDS
    exit_codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """The part of an answer that only images for Tinkwell have.

    `poll_seconds` None: readiness is asked once. `sensitive` are JSON pointers into config and state.
    `read_only_state`: asking for the state changes nothing.
    """

    destroy: Call | None = None
    read_only_state: bool = True
    timeouts: Mapping[str, int] = field(default_factory=dict)
    retry: Retry | None = None
    poll_seconds: int | None = None
    sensitive: tuple[str, ...] = ()
    concurrency_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InitAnswer:
    """The answer of `init`; `document` is its JSON, which `parse_init` accepts again. The schema is not checked yet."""

    state: Call
    config_schema: JsonObject | None = None
    plugs: tuple[PlugRequest, ...] = ()
    extension: Extension = field(default_factory=Extension)
    document: JsonObject


@dataclass(frozen=True, slots=True)
class Valid:
    """The resource matches its config."""

    state: JsonObject


@dataclass(frozen=True, slots=True)
class Stale:
    """The actions make the resource match its config; `state` is None if the resource does not exist."""

    state: JsonObject | None
    actions: tuple[Call, ...]


StateAnswer: TypeAlias = Valid | Stale


def parse_init(answer: bytes) -> InitAnswer:
    """Read the answer of `init`; raises `WrongAnswer`."""
    return _parse("init", answer, _read_init)


def parse_state(answer: bytes) -> StateAnswer:
    """Read the answer of `state`; raises `WrongAnswer`."""
    return _parse("state", answer, _read_state)


def _parse(call: str, answer: bytes, read: Callable[[check.Checks, JsonObject], T]) -> T:
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    try:
        found = read(checks, document.parse_json_object("", answer, max_bytes=MAX_ANSWER_BYTES))
        checks.finish()
    except errors.InvalidField as error:
        problems = tuple(f"{v.field}: {v.description}" if v.field else _no_document(v) for v in error.violations)
        raise WrongAnswer(call, problems, answer) from error
    return found


def _no_document(violation: errors.Violation) -> str:
    """Return why the whole answer is invalid."""
    description = violation.description.replace("Extra data (not JSON)", "something follows the JSON document")
    return f"its standard output must be one JSON object: {description}"


def _read_init(checks: check.Checks, found: JsonObject) -> InitAnswer:
    members = closed_object.ClosedObject(checks, "", found, _INIT_FIELDS)
    members.demand("state_action")
    schema = members.object("config_schema") if "config_schema" in members else None
    if schema is not None:
        size = len(document.dump_json(schema).encode())
        if size > MAX_SCHEMA_BYTES:
            checks.refuse("config_schema", f"has {size:,} bytes; at most {MAX_SCHEMA_BYTES:,} are allowed")
    state = closed_object.ClosedObject(checks, "state_action", members.value("state_action", {}), _CALL_FIELDS)
    return InitAnswer(
        state=_own_call(state, "state", differs="state_action" in members),
        config_schema=schema,
        plugs=_read_plugs(members),
        extension=_read_extension(members.inner("tinkwell", _EXTENSION_FIELDS))
        if "tinkwell" in members
        else Extension(),
        document=found,
    )


def _read_plugs(members: closed_object.ClosedObject) -> tuple[PlugRequest, ...]:
    plugs: list[PlugRequest] = []
    mounted: dict[str, str] = {}
    for path, plug, value in members.members("plugs", name.parse_name):
        inner = closed_object.ClosedObject(members.checks, path, value, _PLUG_FIELDS)
        container_path = inner.text("container_path", _parse_container_path, is_required=True)
        first = mounted.setdefault(container_path, plug)
        if container_path and first != plug:
            members.checks.refuse(f"{path}.container_path", f"is also the one of the plug {first}")
        optional, writable = inner.boolean("optional"), inner.boolean("writable", default=True)
        plugs.append(PlugRequest(name=plug, container_path=container_path, optional=optional, writable=writable))
    return tuple(plugs)


def _read_extension(members: closed_object.ClosedObject) -> Extension:
    members.demand("protocol")
    members.integer("protocol", low=PROTOCOL, high=PROTOCOL)
    destroy = members.inner("destroy_action", _CALL_FIELDS) if "destroy_action" in members else None
    timeouts = members.inner("timeouts", TIMEOUTS)
    seconds = {timeout: timeouts.integer(timeout, low=1, high=MAX_TIMEOUT_SECONDS) for timeout in TIMEOUTS}
    readiness = members.inner("readiness", ("poll_seconds",))
    return Extension(
        destroy=_own_call(destroy, "destroy", differs=True) if destroy else None,
        read_only_state=members.boolean("read_only_state", default=True),
        timeouts={timeout: given for timeout, given in seconds.items() if given is not None},
        retry=_read_retry(members.inner("retry", _RETRY_FIELDS)) if "retry" in members else None,
        poll_seconds=readiness.integer("poll_seconds", low=1, high=MAX_POLL_SECONDS),
        sensitive=members.texts("sensitive", name.parse_pointer, most=MAX_POINTERS),
        concurrency_key=members.text("concurrency_key", parse_key),
    )


def _read_retry(members: closed_object.ClosedObject) -> Retry:
    attempts = members.integer("attempts", low=1, high=retry.MAX_RETRIES + 1)
    delay_seconds = members.integer("delay_seconds", low=0, high=retry.MAX_DELAY_SECONDS)
    codes = [
        members.integer_at(path, code, low=1, high=MAX_EXIT_CODE)
        for path, code in members.items("exit_codes", most=MAX_EXIT_CODE)
    ]
    return Retry(
        attempts=1 if attempts is None else attempts,
        delay_seconds=retry.DEFAULT_DELAY_SECONDS if delay_seconds is None else delay_seconds,
        exit_codes=tuple(code for code in codes if code is not None),
    )


def _read_state(checks: check.Checks, found: JsonObject) -> StateAnswer:
    if "status" not in found:
        checks.refuse("status", "must be given: VALID or STALE")
    match found.get("status"):
        case "VALID":
            members = closed_object.ClosedObject(checks, "", found, _VALID_FIELDS, hints=_VALID_HINTS)
            members.demand("state")
            return Valid(members.object("state"))
        case "STALE":
            members = closed_object.ClosedObject(checks, "", found, _STALE_FIELDS, hints=_STALE_HINTS)
            return Stale(members.object("staleState") if "staleState" in members else None, _read_actions(members))
        case other:
            if "status" in found:
                shown = parse.show(other) if isinstance(other, str) else document.describe(other)
                checks.refuse(
                    "status", f"is {shown}; it must be VALID or STALE (without staleState: it does not exist)"
                )
            return Valid({})


def _read_actions(members: closed_object.ClosedObject) -> tuple[Call, ...]:
    members.demand("actions")
    actions = tuple(
        _read_action(closed_object.ClosedObject(members.checks, path, action, _ACTION_FIELDS))
        for path, action in members.items("actions", most=MAX_ACTIONS)
    )
    if members.value("actions") == []:
        members.checks.refuse("actions", "must have at least one action; a resource that needs none is VALID")
    return actions


def _read_action(members: closed_object.ClosedObject) -> Call:
    action = members.text("name", _parse_action_name, is_required=True)
    return _read_call(members, action, description=members.text("description", _text, default=action))


def _own_call(members: closed_object.ClosedObject, call: str, *, differs: bool) -> Call:
    """Read a call of the resource's own image, which must differ from `init`: the image without arguments."""
    found = _read_call(members, call)
    if differs and members.is_object and not (found.image or found.entrypoint or found.args):
        members.checks.refuse(members.field, "must set image, entrypoint or args; else it would be the call of init")
    return found


def _read_call(members: closed_object.ClosedObject, call: str, *, description: str = "") -> Call:
    """Read a call. Without arguments the image's own are used, as in Docker."""
    args = members.texts("args", _parse_arg, most=MAX_ARGS)
    return Call(
        name=call,
        description=description,
        image=members.text("image", image.parse_image),
        entrypoint=members.text("entrypoint", _text),
        args=args or None,
    )


def _parse_arg(path: str, text: str) -> str:
    parse.check_size(path, text, max_bytes=MAX_ARG_BYTES)
    return text


def _parse_action_name(path: str, text: str) -> str:
    """Check the name of an action, which may become part of file names."""
    _text(path, text)
    if "/" in text or "\\" in text or text.startswith("."):
        raise errors.InvalidField.of(path, f"{parse.show(text)} is like a path; leave out slashes, and dots in front")
    return text


def _parse_container_path(path: str, text: str) -> str:
    """Check the path at which a plug is mounted, and return it in its shortest form."""
    _text(path, text)
    found = "/" + posixpath.normpath(text).strip("/")
    if not text.startswith("/") or ".." in text.split("/") or found == "/":
        raise errors.InvalidField.of(path, f"{parse.show(text)} is not an absolute path below /; write it as /data")
    return found
