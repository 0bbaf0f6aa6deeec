"""Reads the files of a manifest: YAML with any number of documents, which are united into one manifest.

Every violation has the path `files["shop.yaml"].resources.web.type`, or `templates/shop.yaml.resources.web.type` in a
chart, and its description begins with line and column. Expressions are not checked, except that those of Go templates
are refused here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tinkwell.core import errors
from tinkwell.core.release.manifest.model import Manifest
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.document import JsonValue
from tinkwell.core.value.yaml import file as yaml_file
from tinkwell.core.value.yaml import position

MAX_FILE_BYTES = yaml_file.MAX_FILE_BYTES
MAX_FILES = 1_000
_KINDS = ("plugs", "resources", "outputs")

_OPENING = re.compile(r"\{[{%#]")
# Texts with which no Jinja expression begins: {{ .Values.x }}, {{ $x }}, {{ include "x" . }}, {{/* a comment */}}.
_GO_TEMPLATE = re.compile(
    r"\{\{-?\s*(?:/\*|\.|\$|(?:if|range|with|define|block|template|include|toYaml|tpl|required|default|quote)\s+[.\"$])"
)
_GO_SENTENCE = "this is a Go template; expressions are Jinja in quoted texts: write"
_IN_MANIFEST = f'{_GO_SENTENCE} "{{{{ replicas }}}}" for a variable'
_IN_CHART = f'{_GO_SENTENCE} "{{{{ values.replicas }}}}" for a value'


def read(files: Sequence[tuple[str, str]]) -> Manifest:
    """Read files, given by name and text, as one manifest; raises `errors.InvalidField` with all faults.

    A plug, a resource or an output may occur in only one of them.
    """
    if len(files) > MAX_FILES:
        raise errors.InvalidField.of("files", f"has {len(files):,} files; at most {MAX_FILES:,} are allowed")
    united = _United(_IN_MANIFEST)
    for file_name, text in files:
        if not united.checks.is_full:
            united.add_file(file_name, parse.child("files", file_name), text, may_be_empty=False)
    united.checks.finish()
    return united.manifest


@dataclass(frozen=True, slots=True)
class Templates:
    """The manifest of a chart, and the file of each part by the part's path, such as `resources.web`."""

    manifest: Manifest
    files: Mapping[str, str]


def read_templates(files: Mapping[str, str], *, folder: str) -> Templates:
    """Read the templates of a chart, by their paths, as one manifest; raises `errors.InvalidField` as `read` does.

    `folder` is the chart's place in the release's chart, such as `charts/store/`. A file may be empty.
    """
    if len(files) > MAX_FILES:
        found = f"has {len(files):,} files; at most {MAX_FILES:,} are allowed"
        raise errors.InvalidField.of(f"{folder}templates", found)
    united = _United(_IN_CHART)
    for path, text in files.items():
        if not united.checks.is_full:
            united.add_file(f"{folder}{path}", f"{folder}{path}", text, may_be_empty=True)
    united.checks.finish()
    return Templates(united.manifest, united.files)


def check_notes(field: str, text: str) -> None:
    """Check that notes are not a template of Helm's; raises `errors.InvalidField`."""
    if _GO_TEMPLATE.search(text):
        raise errors.InvalidField.of(field, _IN_CHART)


class _United:
    """The united manifest, to which documents are added one by one."""

    def __init__(self, go_sentence: str) -> None:
        self.checks = check.Checks(most=document.MAX_VIOLATIONS)
        self._go_sentence = go_sentence
        self._parts: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS}
        self._first: dict[str, tuple[str, yaml_file.Document]] = {}

    @property
    def files(self) -> Mapping[str, str]:
        """The files that were added, by the paths of their parts."""
        return {path: file_name for path, (file_name, _) in self._first.items()}

    def add_file(self, file_name: str, field: str, text: str, *, may_be_empty: bool) -> None:
        """Add all documents of a file, which errors name by `field`."""
        has_one = False
        try:
            for part in yaml_file.documents(self.checks, field, text, explain=self._explain):
                if part.value is not None:  # an empty document is only the end of a file after ---
                    has_one = True
                    self.add(file_name, part)
                if self.checks.is_full:
                    return
        except errors.InvalidField as error:
            self.checks.note(error)
        else:
            if not has_one and not may_be_empty:
                self.checks.refuse(field, "has no document; write resources: and below it a resource, or {} for none")

    def add(self, file_name: str, part: yaml_file.Document) -> None:
        """Add a document to the manifest."""
        if sentence := _foreign(part.value):
            self._note(part, "", sentence)
            return
        checks = check.Checks(most=document.MAX_VIOLATIONS)
        found = Manifest.read(checks, "", part.value)
        for path in _go_templates("", part.value):
            checks.refuse(path, self._go_sentence)
        try:
            checks.finish()
        except errors.InvalidField as error:
            self.checks.note(part.located(error))
        for kind in _KINDS:
            for key in getattr(found, kind):
                self._refuse_repeated(file_name, part, parse.child(kind, key))
            self._parts[kind].update(getattr(found, kind))

    @property
    def manifest(self) -> Manifest:
        """The manifest of all documents that were added."""
        return Manifest(**self._parts)

    def _refuse_repeated(self, file_name: str, part: yaml_file.Document, path: str) -> None:
        first_name, first = self._first.setdefault(path, (file_name, part))
        # Finding the places takes long in a large document.
        if first is not part and not self.checks.is_full:
            place = f"{first_name}, line {first.locate(path).line}"
            self._note(part, path, f"is also in {place}; a name may occur once in all files together")

    def _note(self, part: yaml_file.Document, path: str, description: str) -> None:
        self.checks.note(part.located(errors.InvalidField.of(path, description)))

    def _explain(self, error: position.Malformed, text: str) -> str:
        """Return what the author of a text that is not YAML probably meant."""
        if _GO_TEMPLATE.search(text):
            return f"{self._go_sentence} ({error.description})"
        line = text.split("\n")[error.position.line - 1]
        if "{{" in line:
            return f'{error.description}; put quotes around a text with an expression: "{{{{ x }}}}"'
        return error.description


def _foreign(value: JsonValue) -> str:
    """Return the kind of a document that is not a manifest of Tinkwell's; "" for a manifest."""
    if not isinstance(value, dict) or not {"apiVersion", "kind"} <= value.keys():
        return ""
    kind = value["kind"] if isinstance(value["kind"], str) else "object"
    return (
        f"is a Kubernetes {parse.excerpt(kind)}; Tinkwell runs resource images: "
        "write a resource whose image applies it, and give it this as config"
    )


def _go_templates(path: str, value: JsonValue) -> Iterator[str]:
    """Yield the texts whose first expression is a Go template."""
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
