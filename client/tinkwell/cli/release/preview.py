"""Shows a plan to people: a line for each resource, with what would be done and why.

      = rabbitmq:queue  valid
      ~ nginx:site      2 actions  resize, notify  config.size  small → large
      + bar:db          1 action   create-database
      ? foo:web         decided at run: config.url needs bar.outputs.url
      - old:cache       destroy    (last in revision 3, removed after batch 3)
      ! mail:relay      left in place: acme/mail has no destroy action
      * foo:migrate     runs at pre-upgrade

Where more than one place differs, each has a line of its own below.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tinkwell.cli.shell import output

if TYPE_CHECKING:
    from tinkwell.core.release.preview.model import Difference, PlannedAction, Preview, PreviewNode

_MAX_NAMED_ACTIONS = 3
_MAX_VALUE_CHARACTERS = 60
_COUNT_WIDTH = len("10 actions")
_STATES = {"~": "STALE", "+": "CREATED", "-": "DELETED", "!": "FAILED", "?": "STALE"}
# The mark of a hook. It is not one of the marks of resources, because a hook is not kept.
_HOOK = "*"


def lines(preview: "Preview", *, release: str, plan_id: str) -> Iterator[str]:
    """Return the lines of a plan. The last one sums it up.

    `plan_id` is empty if nothing can be applied.
    """
    from tinkwell.core.release.preview import summary

    paths = [each.path for each in preview.nodes] + [each.path for each in preview.hooks]
    width = max((len(output.clean(path)) for path in paths), default=0)
    for node in preview.nodes:
        first, *more = _texts(node)
        mark = output.paint(node.mark, _STATES.get(node.mark, ""))
        yield f"  {mark} {output.clean(node.path).ljust(width)}  {first}".rstrip()
        for text in more:
            yield f"    {'':{width}}  {text}"
    for hook in preview.hooks:
        yield f"  {_HOOK} {output.clean(hook.path).ljust(width)}  runs at {hook.event.value}"
    yield "   ".join(filter(None, (summary.sentence(preview), _validity(preview, release, plan_id))))


def _validity(preview: "Preview", release: str, plan_id: str) -> str:
    """Say how long a plan stays valid."""
    if preview.drift is not None:
        return f"{release} is at revision {preview.revision}" if preview.revision else ""
    if not plan_id:
        return ""
    until = f"while {release} stays at revision {preview.revision}" if preview.revision else f"until {release} is there"
    return f"Plan {plan_id}, valid {until}"


def _texts(node: "PreviewNode") -> list[str]:
    from tinkwell.core.release.preview.model import Mark  # jsonschema costs start-up time, see main

    match node.mark:
        case Mark.SAME:
            return [_joined("valid" if node.status == "VALID" else "", node.reason)]
        case Mark.OPEN:
            return [output.clean(node.reason)]
        case Mark.REMOVE:
            return [f"{'destroy':{_COUNT_WIDTH}}  ({output.clean(node.reason)})"]
        case Mark.ATTENTION if not node.actions:
            return [output.clean(node.reason)]
        case _:
            return _change(node)


def _change(node: "PreviewNode") -> list[str]:
    """Return the actions of a resource, and a line for each difference; a single one stands beside the actions."""
    count = f"{len(node.actions)} action{'' if len(node.actions) == 1 else 's'}"
    differing = [_difference(each) for each in node.differences]
    actions = f"{count:{_COUNT_WIDTH}}  {_named(node.actions)}"
    if len(differing) == 1:
        return [_joined(actions, differing[0], node.reason)]
    return [_joined(actions, node.reason), *differing]


def _named(actions: "tuple[PlannedAction, ...]") -> str:
    names = [output.clean(action.name) for action in actions]
    return ", ".join(names) if len(names) <= _MAX_NAMED_ACTIONS else f"{', '.join(names[:_MAX_NAMED_ACTIONS])} …"


def _difference(difference: "Difference") -> str:
    from tinkwell.core.value import parse, pointer

    first, *others = pointer.parse_pointer("", difference.pointer) or ("",)
    place = first
    for part in others:
        place = parse.child(place, int(part) if part.isascii() and part.isdecimal() else part)
    return f"{output.clean(place)}  {_value(difference.before)} → {_value(difference.after)}"


def _value(text: str | None) -> str:
    """Return a value as people write it: a text has no quotes if it is not blank and has no blank at its ends."""
    from tinkwell.core.value import document

    if text is None:
        return "(none)"
    value = document.parse_json("", text)
    shown = value if isinstance(value, str) and value and value == value.strip() else text
    shown = output.clean(shown)
    return shown if len(shown) <= _MAX_VALUE_CHARACTERS else f"{shown[: _MAX_VALUE_CHARACTERS - 1]}…"


def _joined(*texts: str) -> str:
    return "  ".join(output.clean(text) for text in texts if text)
