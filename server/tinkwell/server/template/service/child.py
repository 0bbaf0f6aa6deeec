"""The part of template rendering that runs in a child process: one function for each call of `rendering`."""

from collections.abc import Callable
from typing import cast

from tinkwell.core import errors
from tinkwell.core.template import frozen, quick, template
from tinkwell.core.template.frozen import Frozen
from tinkwell.core.value.document import JsonObject
from tinkwell.core.workflow import devices


def handle(request: object, _begin: Callable[[str], None]) -> object:
    """Answer a request, `{"call": NAME, "text", "field", …}`, or with `{"violations": [[field, description], …]}`.

    With `"may_learn": true` the answer has as `lesson` what `quick.find_lesson` says of the template.
    """
    given = cast(JsonObject, request)
    text = cast(str, given["text"])
    try:
        answer = _CALLS[cast(str, given["call"])](given, text, cast(str, given["field"]))
    except errors.InvalidField as error:
        return {"violations": [[violation.field, violation.description] for violation in error.violations]}
    return answer | {"lesson": quick.find_lesson(text) if given["may_learn"] else None}


def _check(_: JsonObject, text: str, field: str) -> JsonObject:
    return {"name": template.parse_template(text, field=field).name}


def _render(given: JsonObject, text: str, field: str) -> JsonObject:
    values = devices.parse_devices("hardware", cast(str, given["devices"]))
    return {"frozen": frozen.dump(Frozen.of(template.render(text, values, field=field)))}


_CALLS: dict[str, Callable[[JsonObject, str, str], JsonObject]] = {"check": _check, "render": _render}
