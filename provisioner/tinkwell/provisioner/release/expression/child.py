"""What the child process does: one function for each call of `evaluate`. It runs in the child alone."""

import contextlib
from typing import cast

from tinkwell.provisioner.release.expression import render
from tinkwell.provisioner.release.expression.evaluator import Begin, Evaluator, JsonObject, Place, Scope, TooMany
from tinkwell.provisioner.release.expression.plain import Json


def handle(request: object, begin: Begin) -> object:
    """Answer a request, `{"call": NAME, …}`, or with `{"problems": [[field, reason], …]}`."""
    evaluator = Evaluator(begin)
    given = cast(JsonObject, request)
    answer: JsonObject = {}
    with contextlib.suppress(TooMany):
        answer = _CALLS[cast(str, given["call"])](given, evaluator)
    return {"problems": evaluator.problems} if evaluator.problems else answer


def _render(given: JsonObject, evaluator: Evaluator) -> JsonObject:
    names = render.names_of(_object(given["variables"]), _object(given["release"]))
    return render.Rendering(_object(given["manifest"]), names, evaluator).render()


def _resolve(given: JsonObject, evaluator: Evaluator) -> JsonObject:
    late = _object(given["late"])
    names = render.names_of(_object(given["variables"]), _object(given["release"]))
    if "each" in late:
        names["each"] = late["each"]
    names |= _object(given["names"])
    scope = _scope(names)
    document = given["document"]
    for pointer in cast("list[str]", late["pointers"]):
        _resolve_text(document, pointer, Place(cast(str, given["field"]), 1), evaluator, scope)
    return {"document": document}


def _resolve_text(document: Json, pointer: str, place: Place, evaluator: Evaluator, scope: Scope) -> None:
    """Put the value of a text in its place."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    found, parent, key = document, document, ""
    for key in parts:
        parent, found = found, found[int(key)] if isinstance(found, list) else _object(found)[key]
        place = place.child(int(key) if isinstance(parent, list) else key)
    value = evaluator.value(found, place, scope)
    if isinstance(parent, list):
        parent[int(key)] = value
    else:
        _object(parent)[key] = value


def _variables(given: JsonObject, evaluator: Evaluator) -> JsonObject:
    variables = _object(given["given"])
    for file, values in cast("list[tuple[str, JsonObject]]", given["files"]):
        # The values of a file do not see each other.
        evaluated = evaluator.value(values, Place(file, 1), _scope({**variables, "vars": variables}))
        variables = _merged(variables, _object(evaluated))
    return {"variables": variables}


_CALLS = {"render": _render, "resolve": _resolve, "variables": _variables}


def _scope(names: JsonObject) -> Scope:
    return Scope(names, lambda unknown: render.explain(unknown, [*names]))


def _merged(former: JsonObject, later: JsonObject) -> JsonObject:
    """Merge objects within objects; everything else replaces what was there."""
    merged = dict(former)
    for key, value in later.items():
        before = merged.get(key)
        merged[key] = _merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return merged


def _object(value: Json) -> JsonObject:
    assert isinstance(value, dict)
    return value
