"""Templates that are rendered at once, within two or three milliseconds, whatever the values are.

Theory of operation. A parser of YAML written in Python takes some seven milliseconds for each kilobyte, and workflows
are made from the same few templates again and again. Whatever is filled into these is no part of the text that is
parsed (see `gotemplate.output`), so its events are the same each time. They are found elsewhere, where that may take
long (`find_lesson`), and learned here.

What is left to do for some values has bounds of its own: the run, the tree, and what tasks give to their actions. Where
one of them is passed, the template is not rendered here, and nothing is said about it: with the bounds that hold for
all templates it may well be right.
"""

import itertools
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from tinkwell.core.template import reader, template, tree
from tinkwell.core.template.frozen import Frozen
from tinkwell.core.template.gotemplate import program as gotemplate
from tinkwell.core.template.gotemplate.budget import Allowance
from tinkwell.core.template.model import Template
from tinkwell.core.value.document import JsonObject, JsonValue
from tinkwell.core.value.yaml import event as yaml_event
from tinkwell.core.value.yaml.event import Event, Kind

MAX_CHARACTERS = 4 * 1024
# To learn a template takes as long as to parse its actions, and to read its events.
_MAX_ACTION_CHARACTERS = 1024
_MAX_EVENTS = 1_000
# So many templates are remembered, those that were used last.
MAX_KNOWN = 64

_ALLOWANCE = Allowance(steps=2_000, characters=32 * 1024)
_BOUNDS = tree.Bounds(nodes=1_000, characters=8 * 1024)
# Each action gets what its task has: so many characters may be given in all.
_MAX_GIVEN_CHARACTERS = 64 * 1024

# The events of a template's text, as a JSON value.
Lesson: TypeAlias = list[JsonValue]


def find_lesson(text: str) -> Lesson | None:
    """Return what is to be learned of a template that is right; None where it cannot be rendered at once.

    The values of a template with control structures decide upon its text, so there is nothing to learn of it.
    """
    if len(text) > MAX_CHARACTERS:
        return None
    program = gotemplate.parse(text)
    if program.has_control or program.action_characters > _MAX_ACTION_CHARACTERS:
        return None
    events = list(itertools.islice(yaml_event.parse(_outline(program)), _MAX_EVENTS + 1))
    if len(events) > _MAX_EVENTS:
        return None
    return [
        [event.kind.name, event.start, event.end, event.anchor, event.tag, event.value, event.style] for event in events
    ]


@dataclass(frozen=True, slots=True)
class _Known:
    """A template, with the text that it writes before values are filled in, and the events of that."""

    program: gotemplate.Program
    text: str
    events: Sequence[Event]


class QuickTemplates:
    """The templates that are rendered at once."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def may_learn(self, text: str) -> bool:
        """Whether there might be something to learn of a template."""
        return len(text) <= MAX_CHARACTERS and text not in self._known

    def learn(self, text: str, lesson: Lesson) -> None:
        """Remember a template by what `find_lesson` has found."""
        program = gotemplate.parse(text)
        self._known[text] = _Known(program, _outline(program), tuple(_event(each) for each in lesson))
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)

    def render(self, text: str, devices: JsonObject, *, field: str, devices_field: str) -> Frozen | None:
        """Render as `template.render` does; None where the template is not known, or might take longer.

        Raises InvalidField.
        """
        known = self._known.get(text)
        if known is None:
            return None
        self._known.move_to_end(text)
        try:
            output = known.program.execute(devices, _ALLOWANCE)
        except gotemplate.Exhausted:
            return None
        except gotemplate.Fault as exc:
            raise template.refusal(field, devices_field, text, exc) from exc
        if output.text != known.text:
            return None
        return _freeze(field, output, known.events)


def _freeze(field: str, output: gotemplate.Output, events: Sequence[Event]) -> Frozen | None:
    try:
        root = tree.compose(field, output, events=events, bounds=_BOUNDS)
    except tree.TooLarge:
        return None
    found = reader.read(field, root, place=output.place, needs_workers=True)
    return Frozen.of(template.finish(field, found)) if _given(found) <= _MAX_GIVEN_CHARACTERS else None


def _given(found: Template) -> int:
    return sum(
        sum(1 + len(text) for text in (*task.volumes, *task.environment)) * len(task.actions) for task in found.tasks
    )


def _outline(program: gotemplate.Program) -> str:
    return program.outline(gotemplate.Variant.BODIES).text


def _event(value: JsonValue) -> Event:
    name, start, end, anchor, tag, text, style = cast("tuple[str, int, int, str, str, str, str]", value)
    return Event(Kind[name], start, end, anchor=anchor, tag=tag, value=text, style=style)
