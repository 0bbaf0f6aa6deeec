"""The names that every expression of a chart or manifest may use, beside the resources that it depends on.

An applied release has its variables, each under its own name; a chart has `values`, `chart` and `files`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypedDict

from tinkwell.core.value.document import JsonObject

# The largest file that an expression can read as a text.
MAX_FILE_BYTES = 1024 * 1024
INPUTS, SUBCHARTS = "inputs", "subcharts"


class Release(TypedDict):
    """The value of `release` in expressions."""

    name: str
    namespace: str
    revision: int
    is_install: bool
    is_upgrade: bool


class Names(Protocol):
    """Names and their values, in the form for the child process."""

    @property
    def roots(self) -> tuple[str, ...]:
        """All names, including those that are known late."""

    def as_json(self, *, has_files: bool) -> Mapping[str, object]:
        """Return the form that is sent; without files if no expression names them, since they may be large."""


@dataclass(frozen=True, slots=True)
class ManifestNames:
    """The names of an applied release: variables by their own names, `vars` and `release`."""

    variables: JsonObject
    release: Release

    @property
    def roots(self) -> tuple[str, ...]:
        """All names."""
        return (*self.variables, "vars", "release")

    def as_json(self, *, has_files: bool) -> Mapping[str, object]:
        """Return the form for the child process."""
        return {"variables": self.variables, "release": self.release}


@dataclass(frozen=True, slots=True)
class FileTexts:
    """The files of a chart as texts, and the reason for each file that is no text, by their paths in `files/`."""

    texts: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Mapping[str, bytes]) -> "FileTexts":
        """Read files, each of which may be a text or not."""
        texts: dict[str, str] = {}
        refused: dict[str, str] = {}
        for path, content in files.items():
            if len(content) > MAX_FILE_BYTES:
                refused[path] = f"has {len(content):,} bytes; at most {MAX_FILE_BYTES:,} are allowed in expressions"
                continue
            try:
                texts[path] = content.decode()
            except UnicodeDecodeError:
                refused[path] = "is no text in UTF-8"
        return cls(texts, refused)


@dataclass(frozen=True, slots=True)
class ChartNames:
    """The names of a chart: `values`, `release`, `chart` with its metadata, `files`; late `inputs` and `subcharts`."""

    values: JsonObject
    release: Release
    chart: JsonObject
    files: FileTexts

    @property
    def roots(self) -> tuple[str, ...]:
        """All names."""
        return ("values", "release", "chart", "files", INPUTS, SUBCHARTS)

    def as_json(self, *, has_files: bool) -> Mapping[str, object]:
        """Return the form for the child process."""
        files = self.files if has_files else FileTexts()
        told = {"texts": files.texts, "refused": files.refused}
        return {"values": self.values, "release": self.release, "chart": self.chart, "files": told}
