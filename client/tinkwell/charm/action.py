"""Actions of a charm: methods that units run when a user asks for them."""

import inspect
import types
import typing
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tinkwell.charm import errors
from tinkwell.core import errors as core_errors
from tinkwell.core.charm import record
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject, JsonValue

F = TypeVar("F", bound=Callable[..., Coroutine[object, object, Mapping[str, Any] | None]])

TYPES: Mapping[object, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}
# The attribute of a function that holds its `Action`.
_MARK = "__tinkwell_action__"
_ALLOWED = "str, int, float, bool, list and dict, each also with | None"


@dataclass(frozen=True, slots=True)
class Action:
    """A method that is an action, and its declaration; `floats` are the parameters that are converted to float."""

    method: str
    declared: record.Action
    floats: frozenset[str] = frozenset()


def action(name: str = "", *, description: str = "") -> Callable[[F], F]:
    """Make a method an action of the charm, which `tinkwell unit run web/0 backup target=/srv` runs on a unit.

        @charm.action("backup")
        async def backup(self, task: charm.Task, *, target: str, level: int = 1) -> dict[str, str]:
            \"\"\"Writes all that there is to a file.\"\"\"
            task.log("it begins")
            return {"path": await self.write(target, level)}

    The default name is the method's, with - for _, and the default description is the first paragraph of its docstring.
    Parameters stand behind *, with a type of str, int, float, bool, list or dict; those without a default are required.
    The method runs once for each task, and returns the result, a mapping of JSON values, or None.
    """

    def register(function: F) -> F:
        method = getattr(function, "__name__", repr(function))
        if not inspect.iscoroutinefunction(function):
            raise errors.DeclarationError(f"{method} is an action, so it must be declared by async def")
        text = description or inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0]
        parameters = _parameters(function, method)
        declared = record.Action(
            name=name or method.replace("_", "-"),
            description=" ".join(text.split()),
            parameters={key: schema for key, (schema, _) in parameters.items()},
            required=tuple(key for key, (_, is_required) in parameters.items() if is_required),
            is_open=False,
        )
        floats = frozenset(key for key, (schema, _) in parameters.items() if schema["type"] == "number")
        setattr(function, _MARK, Action(method, declared, floats))
        return function

    return register


def acted(function: object) -> Action | None:
    """Return the `Action` of a function; None if it is no action."""
    found = getattr(function, _MARK, None)
    return found if isinstance(found, Action) else None


def _parameters(function: Callable[..., object], method: str) -> Mapping[str, tuple[JsonObject, bool]]:
    """Return the schema of each parameter, and whether it is required."""
    given = [*inspect.signature(function).parameters.values()]
    before = [each for each in given if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    if len(before) != 2 or any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in before):
        raise errors.DeclarationError(f"{method} must be declared as (self, task, *, …), with its parameters behind *")
    return {each.name: _schema(function, method, each) for each in given[2:]}


def _schema(function: Callable[..., object], method: str, given: inspect.Parameter) -> tuple[JsonObject, bool]:
    hint = _evaluated(function, given.annotation)
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        parts = [each for each in typing.get_args(hint) if each is not types.NoneType]
        hint = parts[0] if len(parts) == 1 else None
    kind = typing.get_origin(hint) or hint
    if kind not in TYPES:
        raise errors.DeclarationError(f"{method}: the type of {given.name} must be one of {_ALLOWED}")
    schema: JsonObject = {"type": TYPES[kind]}
    items = typing.get_args(hint)
    if kind is list and items and items[0] in TYPES:
        schema["items"] = {"type": TYPES[items[0]]}
    if given.default is inspect.Parameter.empty:
        return schema, True
    if given.default is not None:
        schema["default"] = _default(method, given)
    return schema, False


def _evaluated(function: Callable[..., object], annotation: object) -> Any:
    """Return an annotation as an object; one that cannot be evaluated stays text."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return typing.get_type_hints(
            types.SimpleNamespace(__annotations__={"found": annotation}), getattr(function, "__globals__", {})
        )["found"]
    except (NameError, TypeError, SyntaxError):
        return annotation


def _default(method: str, given: inspect.Parameter) -> JsonValue:
    try:
        return document.check_json("", given.default)
    except core_errors.InvalidField as error:
        what = f"{given.default!r} cannot be the default of {given.name}"
        raise errors.DeclarationError(f"{method}: {what}: {error}") from error
