"""Reads the files of a manifest: YAML of any number of documents, which are united into one manifest.

Every violation has the path `files["shop.yaml"].resources.web.type`, and its description begins with the line and the
column where that stands. Expressions are not looked into, but for those of Go templates, which are refused here.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tinkwell.core import errors
from tinkwell.core.release.manifest.model import Manifest
from tinkwell.core.value import check, document, parse, position, yaml_file
from tinkwell.core.value.document import JsonValue

MAX_FILE_BYTES = yaml_file.MAX_FILE_BYTES
MAX_FILES = 1_000
_KINDS = ("plugs", "resources", "outputs")

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
            united.add(file_name, part)
            if checks.is_full:
                break
    checks.finish()
    return united.manifest


class _United:
    """The manifest that grows document by document."""

    def __init__(self, checks: check.Checks) -> None:
        self._parts: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS}
        self._checks = checks
        self._first: dict[str, tuple[str, yaml_file.Document]] = {}

    def add(self, file_name: str, part: yaml_file.Document) -> None:
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
                self._refuse_repeated(file_name, part, parse.child(kind, key))
            self._parts[kind].update(getattr(found, kind))

    @property
    def manifest(self) -> Manifest:
        """All that was added."""
        return Manifest(**self._parts)

    def _refuse_repeated(self, file_name: str, part: yaml_file.Document, path: str) -> None:
        first_name, first = self._first.setdefault(path, (file_name, part))
        # To look for the places takes long in a large document.
        if first is not part and not self._checks.is_full:
            place = f"{first_name}, line {first.locate(path).line}"
            self._note(part, path, f"is also in {place}; a name may occur once in all files together")

    def _note(self, part: yaml_file.Document, path: str, description: str) -> None:
        self._checks.note(part.located(errors.InvalidField.of(path, description)))


def _documents(checks: check.Checks, file_name: str, text: str) -> Iterator[yaml_file.Document]:
    """Iterate over the documents of a file; what is no YAML, or too much of it, is noted."""
    field = parse.child("files", file_name)
    has_one = False
    try:
        for part in yaml_file.documents(checks, field, text, explain=_explain):
            if part.value is not None:  # else it is the nothing behind a --- at the end
                has_one = True
                yield part
    except errors.InvalidField as error:
        checks.note(error)
    else:
        if not has_one:
            checks.refuse(field, "has no document; write resources: and below it a resource, or {} for none")


def _explain(error: position.Malformed, text: str) -> str:
    """Say what most probably was meant where a text is not YAML."""
    if _GO_TEMPLATE.search(text):
        return f"{_GO_SENTENCE} ({error.description})"
    line = text.split("\n")[error.position.line - 1]
    if "{{" in line:
        return f'{error.description}; put quotes around a text with an expression: "{{{{ x }}}}"'
    return error.description


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
