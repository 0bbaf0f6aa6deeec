"""What a YAML parser finds, event by event, with the events of small texts kept.

A parser written in Python takes some seven milliseconds for each kilobyte, and workflows are made from the same few
templates again and again. Whatever is filled into these later is no part of the text (see `gotemplate_output`), so the
events are the same each time, whichever the values are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from ruamel.yaml import error, events

from tinkwell.core.value.yaml import scanner as yaml_scanner

# Events take up to eighty times the memory of their text: some 20 MB in all at most.
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
    """An event from `start` to `end`; what it does not have is empty. `style` is the mark that opens a scalar."""

    kind: Kind
    start: int
    end: int
    anchor: str = ""
    tag: str = ""
    value: str = ""
    style: str = ""


class Malformed(Exception):
    """The text is not YAML at `start`, because of what the parser says."""

    def __init__(self, start: int, problem: str) -> None:
        self.start = start
        self.problem = problem
        super().__init__(problem)


_kept: dict[str, Sequence[Event]] = {}


def parse(text: str) -> Iterator[Event]:
    """Yield the events of a text, but for the beginning and the end of the stream; raises `Malformed` where it ends.

    One after the other, since whoever reads may well find that it is too much before all of it is parsed.
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
        # Raised without a mark for a %YAML directive, which stands at the beginning.
        raise Malformed(0, str(exc)) from exc
    except ValueError as exc:
        # So is a number of too many digits in it.
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
