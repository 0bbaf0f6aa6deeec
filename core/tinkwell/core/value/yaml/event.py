"""The events of a YAML parser, with a cache for small texts.

A parser in Python takes about seven milliseconds for a kilobyte, and workflows use the same few templates again and
again. Values are not part of the text (see `gotemplate.output`), so a template's events are always the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from ruamel.yaml import error, events

from tinkwell.core.value.yaml import scanner as yaml_scanner

# Events take up to eighty times the memory of their text: at most about 20 MB in all.
MAX_KEPT_CHARACTERS = 4 * 1024
MAX_KEPT = 64


class Kind(Enum):
    """What an event begins; END ends a list or a mapping."""

    DOCUMENT = auto()
    SEQUENCE = auto()
    MAPPING = auto()
    END = auto()
    SCALAR = auto()
    ALIAS = auto()


@dataclass(frozen=True, slots=True)
class Event:
    """An event from `start` to `end`; absent fields are empty. `style` is the mark that opens a scalar."""

    kind: Kind
    start: int
    end: int
    anchor: str = ""
    tag: str = ""
    value: str = ""
    style: str = ""


class Malformed(Exception):
    """The text is not YAML at `start`; the message is the parser's."""

    def __init__(self, start: int, problem: str) -> None:
        self.start = start
        self.problem = problem
        super().__init__(problem)


_kept: dict[str, Sequence[Event]] = {}


def parse(text: str) -> Iterator[Event]:
    """Yield the events of a text, without the beginning and the end of the stream; raises `Malformed`.

    Events come one by one, because the reader may stop at a limit before the whole text is parsed.
    """
    kept = _kept.get(text)
    if kept is not None:
        yield from kept
        return
    if len(text) > MAX_KEPT_CHARACTERS:
        yield from _parse(text)
        return
    found = []
    for event in _parse(text):
        found.append(event)
        yield event
    _kept[text] = found
    if len(_kept) > MAX_KEPT:
        del _kept[next(iter(_kept))]


def _parse(text: str) -> Iterator[Event]:
    try:
        for event in yaml_scanner.yaml().parse(text):
            if (kind := _kind(event)) is not None:
                yield _event(kind, event)
    except error.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        raise Malformed(mark.index if mark else 0, exc.problem or exc.context or "") from exc
    except AssertionError as exc:
        # Raised without a mark for a %YAML directive, which is at the beginning.
        raise Malformed(0, str(exc)) from exc
    except ValueError as exc:
        # Raised for a number with too many digits in the directive.
        raise Malformed(0, "the version of the %YAML directive is neither 1.1 nor 1.2") from exc


def _kind(event: events.Event) -> Kind | None:
    match event:
        case events.DocumentStartEvent():
            return Kind.DOCUMENT
        case events.ScalarEvent():
            return Kind.SCALAR
        case events.SequenceStartEvent():
            return Kind.SEQUENCE
        case events.MappingStartEvent():
            return Kind.MAPPING
        case events.SequenceEndEvent() | events.MappingEndEvent():
            return Kind.END
        case events.AliasEvent():
            return Kind.ALIAS
        case _:
            return None


def _event(kind: Kind, event: events.Event) -> Event:
    return Event(
        kind,
        event.start_mark.index,
        event.end_mark.index,
        anchor=getattr(event, "anchor", None) or "",
        tag=str(getattr(event, "tag", None) or ""),
        value=getattr(event, "value", None) or "",
        style=getattr(event, "style", None) or "",
    )
