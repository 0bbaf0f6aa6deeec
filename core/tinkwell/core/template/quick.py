"""Templates that are rendered within two or three milliseconds, whatever the values are.

Theory of operation. A YAML parser in Python takes about seven milliseconds for a kilobyte, and workflows use the same
few templates again and again. Values are not part of the text that is parsed (see `gotemplate.output`), so the parser's
events of a template are always the same. `find_lesson` finds them, in a process where this may take long, and `learn`
stores them here.

The rest of the work has limits of its own: the run, the tree, and the settings that tasks give to their actions. A
template above a limit is not rendered here, and no error is raised, because it may be within the limits that hold for
all templates.
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
# Learning a template takes the time to parse its actions and to read its events.
_MAX_ACTION_CHARACTERS = 1024
_MAX_EVENTS = 1_000
# The most templates that are remembered; the ones that were used last are kept.
MAX_KNOWN = 64

_ALLOWANCE = Allowance(steps=2_000, characters=32 * 1024)
_BOUNDS = tree.Bounds(nodes=1_000, characters=8 * 1024)
# The most characters that all tasks together may give to their actions.
_MAX_GIVEN_CHARACTERS = 64 * 1024

# The parser's events of a template's text, as a JSON value.
Lesson: TypeAlias = list[JsonValue]


def find_lesson(text: str) -> Lesson | None:
    """Return what is to be learned of a valid template; None if it cannot be rendered at once.

    A template with control structures has no fixed text, so there is nothing to learn of it.
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
    """A template, with its text before values are filled in, and the parser's events of that text."""

    program: gotemplate.Program
    text: str
    events: Sequence[Event]


class QuickTemplates:
    """The templates that are rendered at once."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def may_learn(self, text: str) -> bool:
        """Whether a template may have a lesson."""
        return len(text) <= MAX_CHARACTERS and text not in self._known

    def learn(self, text: str, lesson: Lesson) -> None:
        """Remember a template with the result of `find_lesson`."""
        program = gotemplate.parse(text)
        self._known[text] = _Known(program, _outline(program), tuple(_event(each) for each in lesson))
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)

    def render(self, text: str, devices: JsonObject, *, field: str, devices_field: str) -> Frozen | None:
        """Render as `template.render` does; None if the template is not known, or might take longer.

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
    return Frozen.of(template.finish(field, found)) if _given_characters(found) <= _MAX_GIVEN_CHARACTERS else None


def _given_characters(found: Template) -> int:
    return sum(
        sum(1 + len(text) for text in (*task.volumes, *task.environment)) * len(task.actions) for task in found.tasks
    )


def _outline(program: gotemplate.Program) -> str:
    return program.outline(gotemplate.Variant.BODIES).text


def _event(value: JsonValue) -> Event:
    name, start, end, anchor, tag, text, style = cast("tuple[str, int, int, str, str, str, str]", value)
    return Event(Kind[name], start, end, anchor=anchor, tag=tag, value=text, style=style)
