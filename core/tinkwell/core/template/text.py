"""Writes a template as YAML that readers of YAML 1.1 and of 1.2 read in the same way."""

import re
from collections.abc import Iterable, Iterator

from tinkwell.core.template.model import Action, Task, Template
from tinkwell.core.workflow import retry

# Letters first, so that nothing looks like a number, a date or an indicator; a colon or a space only between words.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./@+=%-]*(?:[ :][A-Za-z0-9_./@+=%-]+)*")
_WORDS_WITH_MEANING = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_LITERAL = re.compile(
    r"[!-~][\t\n -~\xa0-\u2027\u2030-\ud7ff\ue000-\ufdcf\ufdf0-\ufefe\uff00-\ufffd\U00010000-\U0001fffd]*"
)
_ESCAPED = re.compile(
    r'["\\]|[^ -~\xa0-\u2027\u2030-\ud7ff\ue000-\ufdcf\ufdf0-\ufefe\uff00-\ufffd\U00010000-\U0001fffd]'
)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def write(template: Template) -> Iterator[str]:
    """Yield the text of a template, a few lines at a time."""
    yield from _text(0, "version", template.version)
    yield from _text(0, "name", template.name)
    yield from _number(0, "global_timeout", template.global_timeout_seconds)
    yield from _text(0, "on-timeout", template.on_timeout)
    yield from _text(0, "on-failure", template.on_failure)
    yield "tasks:\n"
    for task in template.tasks:
        yield from _item(1, _task(task))


def _task(task: Task) -> Iterator[str]:
    yield from _text(2, "name", task.name)
    yield from _text(2, "worker", task.worker)
    yield from _list(2, "volumes", task.volumes)
    yield from _environment(2, task.environment)
    yield f"{_indent(2)}actions:\n"
    for action in task.actions:
        yield from _item(3, _action(action))


def _action(action: Action) -> Iterator[str]:
    yield from _text(4, "name", action.name)
    yield from _text(4, "image", action.image)
    yield from _number(4, "timeout", action.timeout_seconds)
    yield from _list(4, "command", action.command)
    yield from _list(4, "volumes", action.volumes)
    yield from _environment(4, action.environment)
    yield from _text(4, "pid", action.pid)
    yield from _list(4, "on-timeout", action.on_timeout)
    yield from _list(4, "on-failure", action.on_failure)
    yield from _number(4, "retries", action.retries)
    yield from _number(4, "retry-delay", action.retry_delay_seconds, unsaid=retry.DEFAULT_DELAY_SECONDS)
    if action.reboots:
        yield f"{_indent(4)}reboot: true\n"


def _indent(level: int) -> str:
    return "  " * level


def _item(level: int, lines: Iterator[str]) -> Iterator[str]:
    """Make a list item from the lines of a mapping, which are indented by one level more."""
    first = next(lines)
    yield f"{_indent(level)}- {first.lstrip(' ')}"
    yield from lines


def _text(level: int, key: str, text: str) -> Iterator[str]:
    if text:
        yield f"{_indent(level)}{key}: {scalar(text, level + 1)}\n"


def _number(level: int, key: str, number: int, *, unsaid: int = 0) -> Iterator[str]:
    if number != unsaid:
        yield f"{_indent(level)}{key}: {number}\n"


def _list(level: int, key: str, texts: Iterable[str]) -> Iterator[str]:
    if texts:
        yield f"{_indent(level)}{key}:\n"
    for text in texts:
        yield f"{_indent(level + 1)}- {scalar(text, level + 2)}\n"


def _environment(level: int, variables: Iterable[str]) -> Iterator[str]:
    if variables:
        yield f"{_indent(level)}environment:\n"
    for variable in variables:
        key, _, text = variable.partition("=")
        yield f"{_indent(level + 1)}{scalar(key, 0)}: {scalar(text, level + 2)}\n"


def scalar(text: str, level: int) -> str:
    """Write a text plainly if that is safe, several lines as a block, and all others in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS_WITH_MEANING:
        return text
    if "\n" in text and _LITERAL.fullmatch(text):
        return _block(text, level)
    return f'"{text.translate(_Escapes())}"'


def _block(text: str, level: int) -> str:
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    chomping = "-" if not ends else "" if ends == 1 else "+"
    lines = [f"{_indent(level)}{line}" if line else "" for line in body.split("\n")]
    return "\n".join([f"|{chomping}", *lines]) + "\n" * max(0, ends - 1)


class _Escapes(dict[int, str]):
    """Maps codes of characters to their form in double quotes: each form is computed once, however long the text is."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        written = self[code] = _escape(character) if _ESCAPED.fullmatch(character) else character
        return written


def _escape(character: str) -> str:
    if escape := _ESCAPES.get(character):
        return escape
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
