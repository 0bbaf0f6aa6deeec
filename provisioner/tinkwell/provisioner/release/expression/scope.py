"""Builds the names for expressions from the parent's request. It runs only in the child process."""

from typing import cast

from tinkwell.core.value import closed_object, parse
from tinkwell.provisioner.release.expression.evaluator import JsonObject
from tinkwell.provisioner.release.expression.fault import Fault


class Files:
    """The files of a chart: `files.get("app.conf")` gives the text of one."""

    __slots__ = ("_refused", "_texts")

    def __init__(self, texts: dict[str, str], refused: dict[str, str]) -> None:
        self._texts = texts
        self._refused = refused

    def __repr__(self) -> str:
        return "files"

    def get(self, path: object) -> str:
        """Return the text of a file by its path in the chart's `files/`; raises `Fault`."""
        if not isinstance(path, str):
            raise Fault('files.get takes the path of a file, such as files.get("app.conf")')
        if path in self._texts:
            return self._texts[path]
        if path in self._refused:
            raise Fault(f"the file {parse.show(path)} {self._refused[path]}")
        nearest = closed_object.nearest(path, [*self._texts, *self._refused])
        raise Fault(f"the chart has no file {parse.show(path)} in files/; {nearest}")


def names_of(given: JsonObject) -> dict[str, object]:
    """Return the names that every expression may use, from the form of `naming.Names`."""
    if "variables" in given:
        variables = cast(JsonObject, given["variables"])
        return {**variables, "vars": variables, "release": given["release"]}
    files = cast("dict[str, dict[str, str]]", given["files"])
    return {
        "values": given["values"],
        "release": given["release"],
        "chart": given["chart"],
        "files": Files(files["texts"], files["refused"]),
    }


def is_chart(given: JsonObject) -> bool:
    """Return whether these are the names of a chart."""
    return "variables" not in given
