"""The content of a workflow: a template rendered for its devices, which needs no other data."""

import dataclasses
from typing import cast

from tinkwell.core.template.model import Action
from tinkwell.core.template.template import Rendered
from tinkwell.core.value.document import JsonObject, JsonValue

_NAMES = tuple(field.name for field in dataclasses.fields(Action))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """A rendered template: its text, the worker of each task, and the actions of all tasks, in order.

    The actions include the settings of their tasks. The other fields are as in `model.Template`.
    """

    text: str
    global_timeout_seconds: int
    on_timeout: str
    on_failure: str
    workers: tuple[str, ...]
    actions: tuple[Action, ...]

    @classmethod
    def of(cls, rendered: Rendered) -> "Frozen":
        """Return the parts of a rendered template that a workflow needs."""
        return cls(
            text=rendered.text,
            global_timeout_seconds=rendered.template.global_timeout_seconds,
            on_timeout=rendered.template.on_timeout,
            on_failure=rendered.template.on_failure,
            workers=tuple(task.worker for task in rendered.template.tasks),
            actions=rendered.actions,
        )


def dump(frozen: Frozen) -> JsonObject:
    """Return it as a JSON value."""
    return {
        "text": frozen.text,
        "global_timeout_seconds": frozen.global_timeout_seconds,
        "on_timeout": frozen.on_timeout,
        "on_failure": frozen.on_failure,
        "workers": list(frozen.workers),
        "actions": [[_plain(getattr(action, name)) for name in _NAMES] for action in frozen.actions],
    }


def load(value: JsonObject) -> Frozen:
    """Read what `dump` returned."""
    return Frozen(
        text=cast(str, value["text"]),
        global_timeout_seconds=cast(int, value["global_timeout_seconds"]),
        on_timeout=cast(str, value["on_timeout"]),
        on_failure=cast(str, value["on_failure"]),
        workers=tuple(cast("list[str]", value["workers"])),
        actions=tuple(map(_action, cast("list[list[JsonValue]]", value["actions"]))),
    )


def _plain(value: str | int | tuple[str, ...]) -> JsonValue:
    return list(value) if isinstance(value, tuple) else value


def _action(values: list[JsonValue]) -> Action:
    named = {
        name: tuple(value) if isinstance(value, list) else value for name, value in zip(_NAMES, values, strict=True)
    }
    return Action(**named)  # type: ignore[arg-type]  # they are what `dump` found in one
