"""Reads the files of a manifest: YAML of any number of documents, which are united into one manifest.

Every violation has the path `files["shop.yaml"].resources.web.type`, and its description begins with the line and the
column where that stands. Expressions are not looked into, but for those of Go templates, which are refused here.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml.nodes import Node

from tinkwell.core import errors
from tinkwell.core.release.manifest.model import Manifest
from tinkwell.core.value import check, document, parse, position, yaml_node
from tinkwell.core.value.document import JsonValue

MAX_FILE_BYTES = document.MAX_DOCUMENT_BYTES
MAX_FILES = 1_000
MAX_ALIASES = 100
_KINDS = ("plugs", "resources", "outputs")
MAX_EXPANSION = 10
# What all of it may take once aliases are copied.
MAX_MANIFEST_BYTES = 8 * 1024 * 1024

_OPENING = re.compile(r"\{[{%#]")
# What no Jinja expression begins with: {{ .Values.x }}, {{ $x }}, {{ include "x" . }}, {{/* a comment */}}.
_GO_TEMPLATE = re.compile(
    r"\{\{-?\s*(?:/\*|\.|\$|(?:if|range|with|define|block|template|include|toYaml|tpl|required|default|quote)\s+[.\"$])"
)
_GO_SENTENCE = 'this is a Go template; expressions are Jinja in quoted texts: write "{{ replicas }}" for a variable'


def read(files: Sequence[tuple[str, str]]) -> Manifest:
    """Read files, given by name and text, as one manifest; raises `errors.InvalidField` with all that is wrong.

    A plug, a resource or an output may occur in one of them only.
    """
    if len(files) > MAX_FILES:
        raise errors.InvalidField.of("files", f"has {len(files):,} files; at most {MAX_FILES:,} are allowed")
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    united = _United(checks)
    for file_name, text in files:
        for part in _documents(checks, file_name, text):
            united.add(part)
            if checks.is_full:
                break
    checks.finish()
    return united.manifest


@dataclass(frozen=True, slots=True)
class _Document:
    """A document of a file; `node` knows where each part of `value` stands."""

    file_name: str
    node: Node
    value: JsonValue

    def located(self, error: errors.InvalidField) -> errors.InvalidField:
        """Say of each violation where it stands."""
        places = [yaml_node.locate(self.node, position.parse_path(v.field)) for v in error.violations]
        return errors.InvalidField(
            _violation(self.file_name, place, v.field, v.description)
            for place, v in zip(places, error.violations, strict=True)
        )

    def place(self, path: str) -> str:
        """Name the file and the line of a part of the document."""
        return f"{self.file_name}, line {yaml_node.locate(self.node, position.parse_path(path)).line}"


class _United:
    """The manifest that grows document by document."""

    def __init__(self, checks: check.Checks) -> None:
        self._parts: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS}
        self._checks = checks
        self._first: dict[str, _Document] = {}

    def add(self, part: _Document) -> None:
        """Unite the manifest with another document."""
        if sentence := _foreign(part.value):
            self._note(part, "", sentence)
            return
        checks = check.Checks(most=document.MAX_VIOLATIONS)
        found = Manifest.read(checks, "", part.value)
        for path in _go_templates("", part.value):
            checks.refuse(path, _GO_SENTENCE)
        try:
            checks.finish()
        except errors.InvalidField as error:
            self._checks.note(part.located(error))
        for kind in _KINDS:
            for key in getattr(found, kind):
                self._refuse_repeated(part, parse.child(kind, key))
            self._parts[kind].update(getattr(found, kind))

    @property
    def manifest(self) -> Manifest:
        """All that was added."""
        return Manifest(**self._parts)

    def _refuse_repeated(self, part: _Document, path: str) -> None:
        first = self._first.setdefault(path, part)
        # To look for the places takes long in a large document.
        if first is not part and not self._checks.is_full:
            self._note(part, path, f"is also in {first.place(path)}; a name may occur once in all files together")

    def _note(self, part: _Document, path: str, description: str) -> None:
        self._checks.note(part.located(errors.InvalidField.of(path, description)))


def _documents(checks: check.Checks, file_name: str, text: str) -> Iterator[_Document]:
    """Iterate over the documents of a file; what is no YAML, or too much of it, is noted."""
    has_one = False
    try:
        parse.parse_text("", text, max_bytes=MAX_FILE_BYTES, allow_empty=True, multiline=True)
        for node in yaml_node.documents(text):
            part = _Document(file_name, node, _value(checks, file_name, node, text))
            if part.value is not None:  # else it is the nothing behind a --- at the end
                has_one = True
                yield part
    except errors.InvalidField as error:
        checks.refuse(parse.child("files", file_name), error.violations[0].description)
    except position.Malformed as error:
        checks.note(errors.InvalidField([_violation(file_name, error.position, "", _explain(error, text))]))
    else:
        if not has_one:
            description = "has no document; write resources: and below it a resource, or {} for none"
            checks.refuse(parse.child("files", file_name), description)


def _value(checks: check.Checks, file_name: str, node: Node, text: str) -> JsonValue:
    """Build the value of a document; raises `position.Malformed`, and notes what cannot be stored."""
    written = yaml_node.count(node)
    if written.aliases > MAX_ALIASES:
        description = f"has {written.aliases:,} aliases; at most {MAX_ALIASES} are allowed"
        raise position.Malformed(yaml_node.locate(node, ()), description)
    value = yaml_node.value_of(node, max_values=MAX_EXPANSION * written.nodes, max_characters=MAX_EXPANSION * len(text))
    try:
        return document.check_json("", value, max_bytes=MAX_MANIFEST_BYTES)
    except errors.InvalidField as error:
        checks.note(_Document(file_name, node, value).located(error))
        return {}


def _explain(error: position.Malformed, text: str) -> str:
    """Say what most probably was meant where a text is not YAML."""
    if _GO_TEMPLATE.search(text):
        return f"{_GO_SENTENCE} ({error.description})"
    line = text.split("\n")[error.position.line - 1]
    if "{{" in line:
        return f'{error.description}; put quotes around a text with an expression: "{{{{ x }}}}"'
    return error.description


def _violation(file_name: str, place: position.Position, path: str, description: str) -> errors.Violation:
    field = parse.child("files", file_name)
    if path:
        field = f"{field}{path}" if path.startswith("[") else f"{field}.{path}"
    return errors.Violation(field, f"line {place.line}, column {place.column}: {description}")


def _foreign(value: JsonValue) -> str:
    """Say of what kind a document is that is not meant for us; empty for any other."""
    if not isinstance(value, dict) or not {"apiVersion", "kind"} <= value.keys():
        return ""
    kind = value["kind"] if isinstance(value["kind"], str) else "object"
    return (
        f"is a Kubernetes {parse.excerpt(kind)}; Tinkwell runs resource images: "
        "write a resource whose image applies it, and give it this as config"
    )


def _go_templates(path: str, value: JsonValue) -> Iterator[str]:
    """Find the texts whose first expression is a Go template."""
    match value:
        case str():
            opening = _OPENING.search(value)
            if opening and _GO_TEMPLATE.match(value, opening.start()):
                yield path
        case dict():
            for key, member in value.items():
                yield from _go_templates(parse.child(path, key), member)
        case list():
            for index, item in enumerate(value):
                yield from _go_templates(parse.child(path, index), item)
