"""What scripts print and warn of, and what of their changes is dropped.

In operations all of it goes to the log, and as much as has room into the message of the event.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core.release.lifecycle_event.name import Event

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One line. `chart` is the path of the chart, and `file` that of the script in the root's archive.

    `line` is where the handler begins; it is 0, and `event` None, while scripts load.
    """

    release: str
    chart: str
    event: Event | None
    file: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """The file, and the line where it is known."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed(Said):
    """What a script has printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned(Said):
    """What a script warns of."""

    @property
    def sentence(self) -> str:
        """Say who warns, and of what."""
        who = f"the handler of {self.event}" if self.event is not None else "the script"
        return f"{who} warns: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped(Said):
    """A change that is not taken over: `text` says of what, such as `values.port`."""

    @property
    def sentence(self) -> str:
        """Say what is dropped."""
        return f"its change of {self.text} at {self.event} is dropped"


Line: TypeAlias = Printed | Warned | Dropped
Say: TypeAlias = Callable[[Line], None]

# How the last line of a message begins where not all have room.
_MORE = "… and "


def message(said: Sequence[Line], *, failure: str = "", max_characters: int) -> str:
    """Return what is to be told of an event: why it has failed, and what was said while it was heard, line by line.

    Where not all has room it says how many lines are in the log alone.
    """
    texts = [_text(each) for each in said]
    whole = "\n".join([failure] * bool(failure) + texts)
    # A failure that has no room by itself is cut where it is stored.
    if len(whole) <= max_characters or len(failure) >= max_characters:
        return failure if len(whole) > max_characters else whole
    counts = [text.count("\n") + 1 for text in texts]
    shown = [failure] if failure else []
    room = max_characters - len(failure) - len(_rest(sum(counts))) - 1
    for place, text in enumerate(texts):
        # Whole, since a secret may have several lines.
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
