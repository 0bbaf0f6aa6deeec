"""Loads the scripts of charts and calls their handlers. It runs only in the child process.

Requests are `{"call": "load", …}` and `{"call": "call", …}`. An answer has the result or `fault`, an error of a script
with its place. `is_unloaded` says that this is a new process, which has to load the scripts first.
"""

from collections.abc import Callable
from typing import TypeAlias, cast

from tinkwell.provisioner.release.lua.engine import Engine, Json, JsonObject, OutOfMemoryError

Begin: TypeAlias = Callable[[str], None]

_NO_MEMORY: JsonObject = {
    "message": "needs more memory than Lua may have",
    "traceback": "",
    "is_excess": True,
    "chart": "",
    "file": "",
    "line": 0,
}


class _Loaded:
    """The only interpreter of this process; None before a load."""

    engine: Engine | None = None


def handle(request: object, begin: Begin) -> object:
    """Answer a request."""
    given = cast(JsonObject, request)
    try:
        answer = _load(given, begin) if given["call"] == "load" else _call(given, begin)
    except OutOfMemoryError:
        answer = {"fault": dict(_NO_MEMORY), "lines": [], "warnings": []}
    fault = cast("JsonObject | None", answer.get("fault"))
    if fault is not None and (given["call"] == "load" or fault["is_excess"]):
        # The interpreter is dropped, since a script that was stopped may have left its variables in any state.
        _Loaded.engine = None
    return answer


def _load(given: JsonObject, begin: Begin) -> JsonObject:
    """Load the scripts of all charts; `order` in the request has pairs of a chart's path and its files."""
    _Loaded.engine = None
    engine = Engine()
    lines: list[str] = []
    # Printed lines and warnings: the path of the chart, the file, whether the line is a warning, and the text.
    said: list[Json] = []

    def run(name: str, *arguments: str, path: str = "", file: str = "ext/lua/") -> JsonObject:
        found = engine.call(name, *arguments)
        lines.extend(cast("list[str]", found["lines"]))
        for what in ("lines", "warnings"):
            said.extend([path, file, what == "warnings", text] for text in cast("list[str]", found[what]))
        return found

    run("take", cast(str, given["charts"]))
    for path, files in cast("list[tuple[str, list[str]]]", given["order"]):
        for file in files:
            begin(f"{path}\n{file}")
            if (found := run("run_file", path, file, path=path, file=file)).get("fault"):
                return found
    run("begin_init")
    for path, _ in cast("list[tuple[str, list[str]]]", given["order"]):
        begin(f"{path}\next/lua")
        if (found := run("init", path, path=path)).get("fault"):
            return found
    answer = run("end_init")
    _Loaded.engine = engine
    return {**answer, "lines": [*lines], "said": said}


def _call(given: JsonObject, begin: Begin) -> JsonObject:
    if _Loaded.engine is None:
        return {"is_unloaded": True}
    begin(cast(str, given["piece"]))
    return _Loaded.engine.call(
        "call",
        cast(int, given["ordinal"]),
        cast(str, given["name"]),
        cast(str, given["namespace"]),
        cast(str, given["texts"]),
    )
