"""What the child process does: it loads the scripts of charts, and calls their handlers. It runs in the child alone.

Requests are `{"call": "load", …}` and `{"call": "call", …}`. An answer has what came of it, or `fault`: what a script
did wrong, and where. `is_unloaded` says that this process, which is another one than before, has to load first.
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
    """The one interpreter of this process, while there is one."""

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
        # A script that was stopped anywhere may have left its variables in any state.
        _Loaded.engine = None
    return answer


def _load(given: JsonObject, begin: Begin) -> JsonObject:
    """Load all charts, `[[path, …], …]` in the order in which they load."""
    _Loaded.engine = None
    engine = Engine()
    lines: list[str] = []
    # What was said with its place: the path of the chart, the file, whether it is a warning, and the text.
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
