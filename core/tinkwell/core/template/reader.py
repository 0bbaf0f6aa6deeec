"""Reads a template from its YAML tree, and finds all faults.

Each violation names the field's path, and its description begins with the line and column in the template. Texts that
depend on unknown values are not checked.
"""

import difflib
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.template import tree
from tinkwell.core.template.model import Action, Task, Template
from tinkwell.core.value import document, image
from tinkwell.core.value import parse as value
from tinkwell.core.workflow import retry

VERSION = "0.1"
MAX_ACTIONS = 1_000
MAX_TIMEOUT_SECONDS = 365 * 24 * 60 * 60
MAX_VIOLATIONS = document.MAX_VIOLATIONS

_TEMPLATE_KEYS = ("version", "name", "id", "global_timeout", "on-timeout", "on-failure", "tasks")
_TASK_KEYS = ("name", "worker", "volumes", "environment", "actions")
_ACTION_KEYS = (
    *("name", "image", "timeout", "command", "volumes", "environment"),
    *("pid", "on-timeout", "on-failure"),
    *("retries", "retry-delay", "reboot"),
)
_BOOLEANS = {"true": True, "false": False}
_DECIMAL_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)")
_BASED_INTEGER = re.compile(r"0x[0-9a-fA-F]+|0o[0-7]+")
_ZERO = re.compile(r"[+-]?0|0x0+|0o0+")
_MAX_INTEGER_CHARACTERS = 20
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_VOLUME_OPTIONS = re.compile(r"[a-zA-Z]+(?:,[a-zA-Z]+)*")


def read(field: str, root: tree.Node | None, *, place: Callable[[int], str], needs_workers: bool) -> Template:
    """Read a template; raises InvalidField with up to MAX_VIOLATIONS violations.

    `place` returns the place in the template of a node. `needs_workers` demands that every task names its worker, as it
    must after rendering.
    """
    reader = _Reader(place, needs_workers=needs_workers)
    template = reader.template(_Spot(field, 0, root))
    if reader.violations:
        raise errors.InvalidField(reader.violations)
    return template


def parse_volume(field: str, text: str) -> str:
    """Check a volume, `host[:container[:options]]`, such as `/lib/firmware:/lib/firmware:ro`."""
    host, *rest = text.split(":")
    if "\0" in text or not host or len(rest) > 2:
        problem = "write it as host:container:options, such as /lib/firmware:/lib/firmware:ro"
    elif rest and not rest[0].startswith("/"):
        problem = "its place in the container must begin with /"
    elif len(rest) == 2 and not _VOLUME_OPTIONS.fullmatch(rest[1]):
        problem = "its options must be words joined by commas, such as ro"
    else:
        return text
    raise errors.InvalidField.of(field, f"{value.show(text)} is not a volume: {problem}")


def parse_variable(field: str, text: str) -> str:
    """Check the name of an environment variable."""
    if not _VARIABLE.fullmatch(text) or len(text) > value.MAX_NAME_BYTES:
        raise errors.InvalidField.of(
            field,
            f"{value.show(text)} is not the name of a variable; use letters, digits, _, . and -, a letter or _ first, "
            f"at most {value.MAX_NAME_BYTES} of them",
        )
    return text


@dataclass(slots=True)
class _Spot:
    """A part of the template: its start, and its node; None if the part is missing or null.

    A template has many parts, and is read for each workflow. So a part only refers to the part around it; its path is
    computed only for a violation.
    """

    name: str | int
    start: int
    node: tree.Node | None
    parent: "_Spot | None" = None

    @property
    def path(self) -> str:
        """The path of the field."""
        return str(self.name) if self.parent is None else value.child(self.parent.path, self.name)

    def child(self, name: str | int, node: tree.Node) -> "_Spot":
        is_null = isinstance(node, tree.Scalar) and node.is_null
        return _Spot(name, node.start, None if is_null else node, self)

    def key(self, name: str, entry: tree.Entry) -> "_Spot":
        """Return the key of a mapping's entry."""
        return _Spot(name, entry.key.start, entry.key, self)

    def field(self, name: str, entry: tree.Entry | None) -> "_Spot":
        """Return a mapping's entry; one without a value begins at its key, and a missing one where the mapping does."""
        if not entry:
            return _Spot(name, self.start, None, self)
        spot = self.child(name, entry.node)
        return spot if spot.node else _Spot(name, entry.key.start, None, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Number:
    """A whole number from 0 to `highest` with its unit, and its default."""

    highest: int
    unit: str = ""
    unsaid: int = 0

    @property
    def of_unit(self) -> str:
        """The unit, as text after the word number."""
        return f" of {self.unit}" if self.unit else ""

    @property
    def span(self) -> str:
        """The allowed numbers, as text."""
        return f"from 0 to {self.highest:,}"


_TIMEOUT = _Number(highest=MAX_TIMEOUT_SECONDS, unit="seconds")
_RETRIES = _Number(highest=retry.MAX_RETRIES)
_RETRY_DELAY = _Number(highest=retry.MAX_DELAY_SECONDS, unit="seconds", unsaid=retry.DEFAULT_DELAY_SECONDS)


class _Reader:
    """Reads part by part; a fault is noted, and reading goes on with an empty value."""

    def __init__(self, place: Callable[[int], str], *, needs_workers: bool) -> None:
        self.violations: list[errors.Violation] = []
        self._place = place
        self._needs_workers = needs_workers
        self._action_count = 0

    def template(self, root: _Spot) -> Template:
        if isinstance(root.node, tree.Mapping) and {"apiVersion", "kind"} <= root.node.entries.keys():
            self._complain(
                root, "this is an object of Kubernetes; give the text that a kind: Template has in spec.data"
            )
            return Template(name="", version="", global_timeout_seconds=0, tasks=())
        fields = self._fields(root, _TEMPLATE_KEYS)
        if not fields:
            return Template(name="", version="", global_timeout_seconds=0, tasks=())
        return Template(
            name=self._text(fields["name"], _parse_title),
            version=self._text(fields["version"], _parse_version),
            global_timeout_seconds=self._number(fields["global_timeout"], _TIMEOUT),
            on_timeout=self._text(fields["on-timeout"], _parse_recovery),
            on_failure=self._text(fields["on-failure"], _parse_recovery),
            tasks=self._tasks(fields["tasks"]),
        )

    def _tasks(self, spot: _Spot) -> tuple[Task, ...]:
        items = self._items(spot)
        if not items:
            self._complain(spot, "there must be at least one task")
        names: set[str] = set()
        tasks = [self._task(item, names) for item in items]
        return tuple(task for task in tasks if task)

    def _task(self, spot: _Spot, names: set[str]) -> Task | None:
        fields = self._fields(spot, _TASK_KEYS)
        if not fields:
            return None
        name = self._unique_name(fields["name"], names, "task")
        worker = self._text(fields["worker"], _parse_worker if self._needs_workers else _parse_any)
        return Task(
            name=name,
            worker=worker,
            volumes=self._texts(fields["volumes"], parse_volume),
            environment=self._environment(fields["environment"]),
            actions=self._actions(fields["actions"], task_name=name, worker=worker),
        )

    def _actions(self, spot: _Spot, *, task_name: str, worker: str) -> tuple[Action, ...]:
        items = self._items(spot)
        if not items:
            self._complain(spot, "a task must have at least one action")
        before = self._action_count
        self._action_count += len(items)
        if before <= MAX_ACTIONS < self._action_count:
            self._complain(spot, f"there are more than {MAX_ACTIONS:,} actions in all; split the template")
            return ()
        names: set[str] = set()
        actions = [self._action(item, names, task_name=task_name, worker=worker) for item in items]
        return tuple(action for action in actions if action)

    def _action(self, spot: _Spot, names: set[str], *, task_name: str, worker: str) -> Action | None:
        fields = self._fields(spot, _ACTION_KEYS)
        if not fields:
            return None
        return Action(
            task_name=task_name,
            name=self._unique_name(fields["name"], names, "action of this task"),
            image=self._text(fields["image"], image.parse_image),
            timeout_seconds=self._number(fields["timeout"], _TIMEOUT),
            command=self._texts(fields["command"], _parse_any),
            volumes=self._texts(fields["volumes"], parse_volume),
            environment=self._environment(fields["environment"]),
            pid=self._text(fields["pid"], _parse_pid),
            on_timeout=self._texts(fields["on-timeout"], _parse_any),
            on_failure=self._texts(fields["on-failure"], _parse_any),
            worker=worker,
            retries=self._number(fields["retries"], _RETRIES),
            retry_delay_seconds=self._number(fields["retry-delay"], _RETRY_DELAY),
            reboots=self._reboots(fields["reboot"], timeout=fields["timeout"]),
        )

    def _fields(self, spot: _Spot, known: tuple[str, ...]) -> dict[str, _Spot]:
        """Return the known keys of a mapping, and note the unknown ones; empty if there is no mapping."""
        if not isinstance(spot.node, tree.Mapping):
            self._complain(spot, f"must have keys ({', '.join(known)}) and {_describe(spot.node)}")
            return {}
        for name, entry in spot.node.entries.items():
            key = spot.key(name, entry)
            if entry.key.has_value:
                self._complain(key, "this key must be written out; it cannot come from a value")
            elif name not in known and len(self.violations) < MAX_VIOLATIONS:
                # The search is left out if the result would not be reported.
                near = difflib.get_close_matches(name[:100], known, n=1) or [
                    whole for whole in known if len(name) > 1 and whole.startswith(name)
                ]
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
                self._complain(key, f"the key is not known; {hint}")
        entries = spot.node.entries
        return {name: spot.field(name, entries.get(name)) for name in known}

    def _items(self, spot: _Spot) -> list[_Spot]:
        match spot.node:
            case None:
                return []
            case tree.Sequence(items=items):
                return [spot.child(index, item) for index, item in enumerate(items)]
        self._complain(spot, f'must be a list, such as ["a", "b"], and {_describe(spot.node)}{_hint(spot.node)}')
        return []

    def _text(self, spot: _Spot, parse: Callable[[str, str], str]) -> str:
        """Read a text and check it, unless a part of it is not known yet."""
        match spot.node:
            case None:
                text = ""
            case tree.Scalar(text=text):
                if spot.node.is_opaque:
                    return text
            case _:
                self._complain(spot, f"must be text and {_describe(spot.node)}; put quotes around it if it is text")
                return ""
        try:
            return parse("", text)
        except errors.InvalidField as exc:
            for violation in exc.violations:
                self._complain(spot, violation.description)
            return ""

    def _unique_name(self, spot: _Spot, names: set[str], what: str) -> str:
        name = self._text(spot, _parse_title)
        if isinstance(spot.node, tree.Scalar) and not spot.node.is_opaque and name:
            if name in names:
                self._complain(spot, f"another {what} has the name {value.show(name)}, too")
            names.add(name)
        return name

    def _texts(self, spot: _Spot, parse: Callable[[str, str], str]) -> tuple[str, ...]:
        return tuple(self._text(item, parse) for item in self._items(spot))

    def _environment(self, spot: _Spot) -> tuple[str, ...]:
        if spot.node is None:
            return ()
        if not isinstance(spot.node, tree.Mapping):
            self._complain(
                spot, f"must be a mapping, such as {{KEY: text}}, and {_describe(spot.node)}{_hint(spot.node)}"
            )
            return ()
        variables: list[tuple[str, str]] = []
        for name, entry in spot.node.entries.items():
            key = self._text(spot.key(name, entry), parse_variable)
            variables.append((key, self._text(spot.field(name, entry), _parse_any)))
        return tuple(f"{key}={text}" for key, text in sorted(variables))

    def _number(self, spot: _Spot, number: _Number) -> int:
        """Read a number; it must be written without quotes."""
        match spot.node:
            case None:
                return number.unsaid
            case tree.Scalar(text=text, is_plain=is_plain):
                if spot.node.is_opaque:
                    return number.unsaid
                problem = _find_integer_mistake(text, number, is_plain=is_plain)
            case _:
                problem = f"must be a number{number.of_unit} and {_describe(spot.node)}"
                text = ""
        if problem:
            self._complain(spot, problem)
            return number.unsaid
        found = int(text, 0)
        if not 0 <= found <= number.highest:
            self._complain(spot, f"is {found:,}; it must be {number.span} {number.unit}".rstrip())
            return number.unsaid
        return found

    def _reboots(self, spot: _Spot, *, timeout: _Spot) -> bool:
        """Read whether an action reboots its machine; the machine may not come back, so a timeout is required."""
        reboots = self._boolean(spot)
        has_none = timeout.node is None or (
            isinstance(timeout.node, tree.Scalar)
            and not timeout.node.is_opaque
            and _ZERO.fullmatch(timeout.node.text) is not None
        )
        if reboots and has_none:
            self._complain(spot, "needs a timeout beside it; nothing else ends it if the machine does not come back")
        return reboots

    def _boolean(self, spot: _Spot) -> bool:
        """Read true or false; it must be written without quotes."""
        match spot.node:
            case None:
                return False
            case tree.Scalar(text=text, is_plain=is_plain):
                if spot.node.is_opaque or (is_plain and text in _BOOLEANS):
                    return _BOOLEANS.get(text, False)
                if text in _BOOLEANS:
                    self._complain(spot, f"is text; write it without quotes: {text}")
                    return False
        self._complain(spot, f"must be true or false and {_describe(spot.node)}")
        return False

    def _complain(self, spot: _Spot, description: str) -> None:
        if len(self.violations) < MAX_VIOLATIONS:
            self.violations.append(errors.Violation(spot.path, f"{self._place(spot.start)}: {description}"))


def _find_integer_mistake(text: str, number: _Number, *, is_plain: bool) -> str:
    """Return why a text is not an integer; "" if it is one."""
    is_integer = _DECIMAL_INTEGER.fullmatch(text) or _BASED_INTEGER.fullmatch(text)
    if is_integer and not is_plain:
        return f"is text; write it without quotes: {text}"
    if is_integer and len(text) <= _MAX_INTEGER_CHARACTERS:
        return ""
    if re.fullmatch(r"0[0-9]+", text):
        return f"{value.show(text)} is read as decimal by some and as octal by others; write it without leading zeros"
    return f"{value.show(text)} is not a whole number{number.of_unit} {number.span}"


def _describe(node: tree.Node | None) -> str:
    match node:
        case None:
            return "is empty"
        case tree.Scalar(text=text):
            return f"is the text {value.show(text)}"
        case tree.Sequence():
            return "is a list"
        case tree.Mapping():
            return "is a mapping"


def _hint(node: tree.Node | None) -> str:
    """Return what to do about a value that should be one text."""
    is_value = isinstance(node, tree.Scalar) and node.has_value
    return "; a value is always one text, so write the items with {{range}}" if is_value else ""


_parse_title = functools.partial(value.parse_text, max_bytes=value.MAX_NAME_BYTES)


def _parse_any(_field: str, text: str) -> str:
    return text


def _parse_version(field: str, text: str) -> str:
    if text != VERSION:
        raise errors.InvalidField.of(field, f'is {value.show(text)}; it must be "{VERSION}"')
    return text


def _parse_worker(field: str, text: str) -> str:
    if not text:
        raise errors.InvalidField.of(field, "must not be empty; name the machine, such as {{.device_1}}")
    return text


def _parse_pid(field: str, text: str) -> str:
    if text not in ("", "host"):
        raise errors.InvalidField.of(field, f"is {value.show(text)}; it must be host, or left out")
    return text


def _parse_recovery(field: str, text: str) -> str:
    return value.parse_name(field, text) if text else ""
