"""The lines that scripts print, their warnings, and their dropped changes.

In operations all lines go to the log, and as many as fit go into the message of the event.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core.release.lifecycle_event.name import Event

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One printed line, warning or dropped change.

    `chart` is the path of the chart, and `file` the path of the script in the root's archive. `line` is the line where
    the handler begins. While scripts load, `line` is 0 and `event` is None.
    """

    release: str
    chart: str
    event: Event | None
    file: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """The file, with the line if it is known."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed(Said):
    """A line that a script printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned(Said):
    """A warning of a script."""

    @property
    def sentence(self) -> str:
        """The warning with the place of the script."""
        who = f"the handler of {self.event}" if self.event is not None else "the script"
        return f"{who} warns: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped(Said):
    """A change that is not taken over: `text` is the path of the changed value, such as `values.port`."""

    @property
    def sentence(self) -> str:
        """A sentence about the dropped change."""
        return f"its change of {self.text} at {self.event} is dropped"


Line: TypeAlias = Printed | Warned | Dropped
Say: TypeAlias = Callable[[Line], None]

# The beginning of a message's last line if not all lines fit.
_MORE = "… and "


def message(said: Sequence[Line], *, failure: str = "", max_characters: int) -> str:
    """Return the message of an event: its failure, and the lines that its handlers printed.

    If not all lines fit, the message ends with the number of lines that are only in the log.
    """
    texts = [_text(each) for each in said]
    whole = "\n".join([failure] * bool(failure) + texts)
    # A failure that is too long by itself is shortened when it is stored.
    if len(whole) <= max_characters or len(failure) >= max_characters:
        return failure if len(whole) > max_characters else whole
    counts = [text.count("\n") + 1 for text in texts]
    shown = [failure] if failure else []
    room = max_characters - len(failure) - len(_rest(sum(counts))) - 1
    for place, text in enumerate(texts):
        # A text is added whole or not at all, since a secret may span several lines.
        if len(text) + 1 > room:
            shown.append(_rest(sum(counts[place:])))
            break
        shown.append(text)
        room -= len(text) + 1
    found = "\n".join(shown)
    return found if len(found) <= max_characters else failure


def _text(said: Line) -> str:
    return said.text if isinstance(said, Printed) else said.sentence


def _rest(count: int) -> str:
    return f"{_MORE}{count:,} more line{'s' if count != 1 else ''}, in the provisioner's log"


def log(said: Line) -> None:
    """Write a line to the log of this process."""
    fields = {"release": said.release}
    match said:
        case Printed():
            logger.info("a script says", extra=fields | {"chart": said.chart, "line": said.text})
        case Warned():
            event = {"event": said.event.value} if said.event is not None else {}
            logger.warning("a script warns", extra=fields | event | {"script": said.place, "text": said.text})
        case Dropped():
            logger.warning("a change is dropped", extra=fields | {"handler": said.place, "what": said.sentence})
