"""Answers the calls of `evaluate`, with one function for each. It runs only in the child process."""

from typing import cast

from tinkwell.core import errors
from tinkwell.core.release.manifest import name, variables
from tinkwell.core.value.document import JsonValue
from tinkwell.provisioner.release.expression import naming, render, scope
from tinkwell.provisioner.release.expression.evaluator import Begin, Evaluator, JsonObject, Place, Scope
from tinkwell.provisioner.release.expression.plain import Json


def handle(request: object, begin: Begin) -> object:
    """Answer a request `{"call": NAME, …}`; an error gives `{"violations": [[field, description], …]}`."""
    evaluator = Evaluator(begin)
    given = cast(JsonObject, request)
    try:
        answer = _CALLS[cast(str, given["call"])](given, evaluator)
        evaluator.checks.finish()
    except errors.InvalidField as error:
        return {"violations": [(violation.field, violation.description) for violation in error.violations]}
    return answer


def _render(given: JsonObject, evaluator: Evaluator) -> JsonObject:
    names = _object(given["names"])
    wired = (naming.INPUTS, naming.SUBCHARTS) if scope.is_chart(names) else ()
    rendering = render.Rendering(_object(given["manifest"]), scope.names_of(names), evaluator, wired=wired)
    answer = rendering.render()
    if scope.is_chart(names):
        answer["inputs"] = rendering.inputs(_object(given["inputs"]))
        answer["notes"] = rendering.notes(cast(str, given["notes"]))
    return answer


def _resolve(given: JsonObject, evaluator: Evaluator) -> JsonObject:
    names = scope.names_of(_object(given["names"]))
    if given["each"] is not None:
        names["each"] = given["each"]
    found = Scope(now=names | _object(given["resources"]))
    document = cast(JsonValue, given["document"])
    for pointer in cast("list[str]", given["pointers"]):
        _resolve_text(document, pointer, cast(str, given["field"]), evaluator, found)
    return {"document": cast(Json, document)}


def _resolve_text(document: JsonValue, pointer: str, field: str, evaluator: Evaluator, scope: Scope) -> None:
    """Replace a text in the document by its value."""
    above, _, last = pointer.rpartition("/")
    path, text = name.locate(field, document, pointer)
    _, parent = name.locate(field, document, above)
    value = cast(JsonValue, evaluator.value(cast(Json, text), Place(path, pointer.count("/") + 1), scope))
    if isinstance(parent, list):
        parent[int(last)] = value
    elif isinstance(parent, dict):
        parent[last.replace("~1", "/").replace("~0", "~")] = value


def _variables(given: JsonObject, evaluator: Evaluator) -> JsonObject:
    merged = _object(given["given"])
    for file, values in cast("list[tuple[str, JsonObject]]", given["files"]):
        # Values of a file cannot name other values of the same file.
        evaluated = evaluator.value(values, Place(file, 1), Scope(now={**merged, "vars": merged}))
        layers = cast("list[dict[str, JsonValue]]", [merged, evaluated])
        merged = cast(JsonObject, variables.merge(*layers))
    return {"variables": merged}


_CALLS = {"render": _render, "resolve": _resolve, "variables": _variables}


def _object(value: Json) -> JsonObject:
    assert isinstance(value, dict)
    return value
