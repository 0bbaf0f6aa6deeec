"""A chart as it is read from its files: metadata, values, templates, files, and the vendored charts.

`load` checks only what every command needs, so that the order of any chart of Helm can be shown. Features of Helm that
Tinkwell does not support are kept as `refusals`; `check_usable` raises them before anything is rendered. Templates stay
texts here: they are checked when they are rendered. If a chart, or one above it, has scripts, files of `templates/`
with definitions for other templates are also kept as texts, because a script may change them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tinkwell.core import errors
from tinkwell.core.release.chart.file import archive, metadata
from tinkwell.core.release.chart.file.archive import MAX_LEVELS, METADATA
from tinkwell.core.release.chart.file.metadata import Metadata
from tinkwell.core.release.manifest import name as names
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.document import MAX_VIOLATIONS, JsonObject, JsonValue
from tinkwell.core.value.yaml import file as yaml_file

VALUES = "values.yaml"
TEMPLATES = "templates/"
SCHEMA = "values.schema.json"
MAX_SUBCHARTS = 2_000
# Chart.yaml and values.yaml of all charts together; the YAML reader takes seconds for a megabyte.
MAX_YAML_BYTES = 8 * 1024 * 1024
# They are copied into each container.
MAX_FILES_BYTES = 8 * 1024 * 1024

_CHARTS = "charts/"
_FILES = "files/"
_LUA = "ext/lua/"
_NOTES = "templates/NOTES.txt"
_CRDS = "crds/"
_HELM_2_FILES = ("requirements.yaml", "requirements.lock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart.

    `folder` is its place in the root's archive, such as `charts/bar/`, and "" for the root. `templates` has the YAML
    files by their paths in the chart (`templates/web.yaml`), and `other_templates` the other texts of `templates/`
    except the notes. `files` has the files of `files/` and `lua` those of `ext/lua/`, by their paths in these folders.
    `charts` has the vendored charts by the names of their folders or archives in `charts/`. `is_scripted`: the chart,
    or a chart above it, has scripts, which may change its templates. The texts of Chart.yaml and values.yaml serve to
    find line numbers. `refusals` and `warnings` are about this chart alone.
    """

    folder: str = ""
    metadata: Metadata
    metadata_text: str = ""
    values: JsonObject = field(default_factory=dict)
    values_text: str = ""
    schema: JsonObject | None = None
    templates: Mapping[str, str] = field(default_factory=dict)
    other_templates: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    lua: Mapping[str, str] = field(default_factory=dict)
    charts: Mapping[str, "Chart"] = field(default_factory=dict)
    is_scripted: bool = False
    refusals: tuple[errors.Violation, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def all_templates(self) -> Mapping[str, str]:
        """All texts of `templates/` by their paths in that folder, sorted, as scripts see them."""
        notes = {_NOTES: self.notes} if self.notes else {}
        found = sorted({**self.templates, **self.other_templates, **notes}.items())
        return {path.removeprefix(TEMPLATES): text for path, text in found}

    def path(self, file: str) -> str:
        """Return the path by which errors name a file of the chart."""
        return f"{self.folder}{file}"

    def located(self, error: errors.InvalidField) -> errors.ChartInvalid:
        """Return violations in Chart.yaml with the file and line that they are in."""
        file = self.path(METADATA)
        for described in yaml_file.documents(check.Checks(), file, self.metadata_text):
            return errors.ChartInvalid(described.located(error).violations)
        return errors.ChartInvalid(errors.Violation(f"{file}.{v.field}", v.description) for v in error.violations)


def load(files: Mapping[str, bytes]) -> Chart:
    """Read a chart from its files, which are named by their paths within its folder.

    Raises `errors.ChartInvalid` with all faults.
    """
    allowance = archive.Allowance()
    for content in files.values():
        allowance.take_file("")
        allowance.take_bytes("", len(content))
    loader = _Loader(allowance)
    found = loader.load(files, "", 1)
    try:
        loader.checks.finish()
    except errors.InvalidField as error:
        raise errors.ChartInvalid(error.violations) from error
    assert found
    _check_root(found)
    return found


def every(chart: Chart) -> Iterator[Chart]:
    """Yield a chart and all charts that are vendored in it."""
    yield chart
    for child in chart.charts.values():
        yield from every(child)


def with_templates(chart: Chart, texts: Mapping[str, str]) -> Chart:
    """Return a chart with other texts in `templates/`, given by their paths in the chart."""
    return replace(
        chart,
        templates={path: text for path, text in texts.items() if _is_template(path)},
        other_templates={path: text for path, text in texts.items() if not _is_template(path) and path != _NOTES},
        notes=texts.get(_NOTES, ""),
    )


def check_mended(chart: Chart) -> None:
    """Raise `errors.ChartInvalid` for files that scripts should have replaced by manifests, and did not."""
    left = tuple(_refused_partials(chart.other_templates, chart.folder)) if chart.is_scripted else ()
    if left:
        raise errors.ChartInvalid(left[:MAX_VIOLATIONS])


def check_usable(charts: Iterable[Chart]) -> None:
    """Raise `errors.ChartInvalid` for all features of the charts that Tinkwell does not support."""
    refusals = [refusal for chart in charts for refusal in chart.refusals]
    if refusals:
        raise errors.ChartInvalid(refusals[:MAX_VIOLATIONS])


def _check_root(chart: Chart) -> None:
    """Refuse a root chart whose name cannot be a name in the release; other charts can have an alias."""
    try:
        names.parse_chart_name("name", chart.metadata.name)
    except errors.InvalidField as error:
        sentence = (
            f"{parse.show(chart.metadata.name)} is not a name that a release can have for its chart; begin with a "
            f"letter or digit, go on with letters, digits, _ and -, at most {names.MAX_CHART_NAME_CHARACTERS} in all"
        )
        raise chart.located(errors.InvalidField.of("name", sentence)) from error


@dataclass(slots=True)
class _Loader:
    """Loads a chart and the charts in it; faults are noted in the checks."""

    allowance: archive.Allowance
    checks: check.Checks = field(default_factory=lambda: check.Checks(most=MAX_VIOLATIONS))
    _count: int = 0
    _yaml_bytes: int = 0

    def load(self, files: Mapping[str, bytes], folder: str, level: int, *, is_scripted: bool = False) -> Chart | None:
        """Load a chart; None if too little of it is valid. `is_scripted`: a chart above it has scripts."""
        if (described := self._metadata(files, folder)) is None:
            return None
        found, warnings = described
        values_text = self._text(files, folder, VALUES)
        is_scripted = is_scripted or any(map(_is_script, files))
        return Chart(
            folder=folder,
            metadata=found,
            metadata_text=self._text(files, folder, METADATA),
            values=self._values(folder + VALUES, values_text),
            values_text=values_text,
            schema=self._schema(files, folder),
            templates={path: self._text(files, folder, path) for path in sorted(files) if _is_template(path)},
            other_templates={
                path: text for path in sorted(files) if (text := _other_template(files, path)) is not None
            },
            notes=self._text(files, folder, _NOTES),
            files=self._files(files, folder),
            lua={
                path.removeprefix(_LUA): self._text(files, folder, path) for path in sorted(filter(_is_script, files))
            },
            charts=self._charts(files, folder, level, is_scripted=is_scripted),
            is_scripted=is_scripted,
            refusals=tuple(
                _refusals(files, folder, is_library=found.is_library and level == 1, is_scripted=is_scripted)
            ),
            warnings=(*warnings, *_unread(files, folder)),
        )

    def _metadata(self, files: Mapping[str, bytes], folder: str) -> tuple[Metadata, tuple[str, ...]] | None:
        self._count += 1
        if self._count == MAX_SUBCHARTS + 2:
            self.checks.refuse(
                folder + METADATA, f"is one chart too many; at most {MAX_SUBCHARTS:,} subcharts are allowed"
            )
        if self._count > MAX_SUBCHARTS + 1 or self.checks.is_full or not self._may_read(files, folder):
            return None
        for path in sorted(files.keys() & set(_HELM_2_FILES)):
            self.checks.refuse(folder + path, f"is of Helm 2; write its entries as dependencies in {METADATA}")
        if METADATA not in files:
            self.checks.refuse(
                folder + METADATA, "is missing; a chart needs one, with apiVersion: v2, a name and a version"
            )
            return None
        try:
            return metadata.read_metadata(self._text(files, folder, METADATA), file=folder + METADATA)
        except errors.ChartInvalid as error:
            self.checks.note(error)
            return None

    def _may_read(self, files: Mapping[str, bytes], folder: str) -> bool:
        """Count the YAML of a chart and return whether it is within the limit."""
        size = len(files.get(METADATA, b"")) + len(files.get(VALUES, b""))
        was_within = self._yaml_bytes <= MAX_YAML_BYTES
        self._yaml_bytes += size
        if was_within and self._yaml_bytes > MAX_YAML_BYTES:
            sentence = f"with it, {METADATA} and {VALUES} of all charts have more than {MAX_YAML_BYTES:,} bytes"
            self.checks.refuse(folder + METADATA, f"{sentence}; leave charts out")
        return self._yaml_bytes <= MAX_YAML_BYTES

    def _text(self, files: Mapping[str, bytes], folder: str, path: str) -> str:
        """Return the text of a file; "" if the file is missing or is not text."""
        content = files.get(path, b"")
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            self.checks.refuse(folder + path, f"must be UTF-8; the byte at place {error.start:,} is not")
            return ""

    def _values(self, path: str, text: str) -> JsonObject:
        try:
            documents = yaml_file.documents(self.checks, path, text, max_value_bytes=yaml_file.MAX_FILE_BYTES)
            found = [one for one in documents if one.value is not None]
        except errors.InvalidField as error:
            self.checks.note(error)
            return {}
        if len(found) > 1:
            self.checks.refuse(path, f"has {len(found)} documents; write all defaults into one")
        value: JsonValue = found[0].value if found else {}
        if isinstance(value, dict):
            return value
        self.checks.refuse(
            path, f"must be an object with the defaults of the values, and not {document.describe(value)}"
        )
        return {}

    def _schema(self, files: Mapping[str, bytes], folder: str) -> JsonObject | None:
        if SCHEMA not in files:
            return None
        try:
            return document.parse_json_object(folder + SCHEMA, files[SCHEMA])
        except errors.InvalidField as error:
            self.checks.note(error)
            return None

    def _files(self, files: Mapping[str, bytes], folder: str) -> dict[str, bytes]:
        found = {path.removeprefix(_FILES): files[path] for path in sorted(files) if path.startswith(_FILES)}
        if (size := sum(map(len, found.values()))) > MAX_FILES_BYTES:
            self.checks.refuse(
                folder + _FILES,
                f"has {size:,} bytes in all; at most {MAX_FILES_BYTES:,} are allowed, since each call gets them",
            )
        return found

    def _charts(self, files: Mapping[str, bytes], folder: str, level: int, *, is_scripted: bool) -> dict[str, Chart]:
        """Load the vendored charts, by the names of their folders or archives."""
        found: dict[str, Chart] = {}
        for entry, inner in _vendored(files).items():
            at = f"{folder}{_CHARTS}{entry}"
            if level == MAX_LEVELS:
                self.checks.refuse(at, f"is nested deeper than {MAX_LEVELS} levels; put it into a chart further up")
            elif unpacked := self._unpacked(at, inner):
                child = self.load(unpacked, f"{at}/", level + 1, is_scripted=is_scripted)
                found |= {entry: child} if child else {}
        return found

    def _unpacked(self, at: str, inner: "bytes | Mapping[str, bytes]") -> Mapping[str, bytes]:
        if not isinstance(inner, bytes):
            return inner
        try:
            return archive.extract(inner, self.allowance, at=at)
        except errors.ChartInvalid as error:
            self.checks.note(error)
            return {}


def _vendored(files: Mapping[str, bytes]) -> "dict[str, bytes | dict[str, bytes]]":
    """Return the contents of `charts/`: archives, and folders with their files."""
    found: dict[str, bytes | dict[str, bytes]] = {}
    for path in sorted(files):
        entry, slash, rest = path.removeprefix(_CHARTS).partition("/")
        # Helm leaves out names that begin with these characters, too.
        if not path.startswith(_CHARTS) or entry.startswith((".", "_")):
            continue
        if not slash and entry.endswith(".tgz"):
            found[entry] = files[path]
        elif slash:
            inner = found.setdefault(entry, {})
            assert isinstance(inner, dict)
            inner[rest] = files[path]
    return found


def _is_template(path: str) -> bool:
    return path.startswith(TEMPLATES) and path.endswith((".yaml", ".yml")) and not _is_partial(path)


def _is_script(path: str) -> bool:
    return path.startswith(_LUA) and path.endswith(".lua")


def _other_template(files: Mapping[str, bytes], path: str) -> str | None:
    """Return the text of a file of `templates/` that is not YAML; None for other files, and if it is not text."""
    if not path.startswith(TEMPLATES) or path == _NOTES or _is_template(path):
        return None
    try:
        return files[path].decode()
    except UnicodeDecodeError:
        return None


def _is_partial(path: str) -> bool:
    """Return whether a file holds definitions for other templates."""
    return path.startswith(TEMPLATES) and path.rpartition("/")[2].startswith("_")


def _refusals(
    files: Mapping[str, bytes], folder: str, *, is_library: bool, is_scripted: bool
) -> Iterator[errors.Violation]:
    """Return the features that Tinkwell does not support, whatever scripts do."""
    if is_library:
        sentence = (
            "library is a chart with definitions for others, which cannot be installed; make it a dependency of one"
        )
        yield errors.Violation(parse.child(folder + METADATA, "type"), sentence)
    if not is_scripted:
        yield from _refused_partials(files, folder)
    if any(path.startswith(_CRDS) for path in files):
        sentence = (
            "holds definitions for Kubernetes; Tinkwell runs resource images: remove it, or let an image apply them"
        )
        yield errors.Violation(folder + _CRDS, sentence)


def _refused_partials(files: Iterable[str], folder: str) -> Iterator[errors.Violation]:
    for path in sorted(filter(_is_partial, files)):
        sentence = (
            "holds definitions of Go templates, which Tinkwell does not know; write out what they give, and remove it"
        )
        yield errors.Violation(folder + path, sentence)


def _unread(files: Mapping[str, bytes], folder: str) -> Iterator[str]:
    """Warn of files that are not part of the chart, though a user may expect it."""
    for path in sorted(files):
        if path.startswith(TEMPLATES) and path != _NOTES and not _is_template(path) and not _is_partial(path):
            yield f"{folder}{path}: is not read; templates end in .yaml or .yml"
        elif path.startswith(_LUA) and not _is_script(path):
            yield f"{folder}{path}: is not read; handlers end in .lua"
        elif path.startswith(_CHARTS) and "/" not in path.removeprefix(_CHARTS) and not _is_ignored(path):
            yield f"{folder}{path}: is not read; charts are folders, or archives that end in .tgz"


def _is_ignored(path: str) -> bool:
    return path.endswith(".tgz") or path.removeprefix(_CHARTS).startswith((".", "_"))
