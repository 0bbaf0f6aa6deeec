"""The metadata of a chart: its Chart.yaml in Helm's apiVersion v2 or v3, with Tinkwell's fields for order and inputs.

Unknown fields are warnings, because Helm ignores them. A field without a value counts as absent.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tinkwell.core import errors
from tinkwell.core.release.chart.file import constraint
from tinkwell.core.release.manifest import name as names
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.closed_object import ClosedObject, Parse, nearest
from tinkwell.core.value.document import MAX_VIOLATIONS, JsonObject, JsonValue
from tinkwell.core.value.yaml import file as yaml_file

DEPENDS_ON = "helm.sh/depends-on/subcharts"
API_VERSIONS = ("v2", "v3")
TYPES = ("application", "library")
MAX_DEPENDENCIES = 2_000
MAX_ITEMS = 1_000
MAX_NAME_BYTES = 250
MAX_TEXT_BYTES = 65_536

_FIELDS = (
    *("apiVersion", "name", "version", "type", "appVersion", "kubeVersion", "description", "keywords", "home"),
    *("sources", "icon", "maintainers", "deprecated", "annotations", "dependencies"),
)
# Helm computes `enabled`, so charts do not set it. `condition` and `tags` of a whole chart are from Helm 2.
_IGNORED_FIELDS = ("condition", "tags", "engine", "tillerVersion")
_DEPENDENCY_FIELDS = (
    *("name", "version", "repository", "condition", "tags", "alias", "import-values", "depends-on", "inputs"),
)
_IGNORED_DEPENDENCY_FIELDS = ("enabled",)
_MAINTAINER_FIELDS = ("name", "email", "url")

_text = functools.partial(parse.parse_text, max_bytes=MAX_TEXT_BYTES, allow_empty=True, multiline=True)
_line = functools.partial(parse.parse_text, max_bytes=MAX_TEXT_BYTES, allow_empty=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """An entry of `dependencies`.

    `version` is a range, "" for any; `condition` is the text as written, paths with commas between. An item of
    `import_values` is a name below the subchart's `exports`, or the pair of a path in the subchart and one in the
    parent. `depends_on` has names or aliases of siblings as written. `inputs` may hold expressions.
    """

    name: str
    version: str = ""
    repository: str = ""
    condition: str = ""
    tags: tuple[str, ...] = ()
    alias: str = ""
    import_values: tuple[str | tuple[str, str], ...] = ()
    depends_on: tuple[str, ...] = ()
    inputs: JsonObject = field(default_factory=dict)

    @property
    def effective_name(self) -> str:
        """The chart's name in the release."""
        return self.alias or self.name

    def as_json(self) -> JsonObject:
        """Return the members of Chart.yaml, without empty ones."""
        imports: list[JsonValue] = [
            {"child": item[0], "parent": item[1]} if isinstance(item, tuple) else item for item in self.import_values
        ]
        return _without_empty(
            {
                "name": self.name,
                "version": self.version,
                "repository": self.repository,
                "condition": self.condition,
                "tags": list(self.tags),
                "alias": self.alias,
                "import-values": imports,
                "depends-on": list(self.depends_on),
                "inputs": self.inputs,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The contents of a Chart.yaml.

    `depends_on` is the annotation `helm.sh/depends-on/subcharts`, which is not in `annotations`. A maintainer has the
    keys name, email and url.
    """

    api_version: str
    name: str
    version: str
    type: str = "application"
    app_version: str = ""
    kube_version: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    home: str = ""
    sources: tuple[str, ...] = ()
    icon: str = ""
    maintainers: tuple[Mapping[str, str], ...] = ()
    deprecated: bool = False
    annotations: Mapping[str, str] = field(default_factory=dict)
    dependencies: tuple[Dependency, ...] = ()
    depends_on: tuple[str, ...] = ()

    @property
    def is_library(self) -> bool:
        """Whether the chart only holds definitions for other charts."""
        return self.type == "library"

    def as_json(self) -> JsonObject:
        """Return the members of Chart.yaml, without empty ones; the annotation of the order is a list."""
        annotations: JsonObject = dict(self.annotations)
        if self.depends_on:
            annotations[DEPENDS_ON] = list(self.depends_on)
        return _without_empty(
            {
                "apiVersion": self.api_version,
                "name": self.name,
                "version": self.version,
                "type": self.type,
                "appVersion": self.app_version,
                "kubeVersion": self.kube_version,
                "description": self.description,
                "keywords": list(self.keywords),
                "home": self.home,
                "sources": list(self.sources),
                "icon": self.icon,
                "maintainers": [dict(maintainer) for maintainer in self.maintainers],
                "deprecated": self.deprecated,
                "annotations": annotations,
                "dependencies": [dependency.as_json() for dependency in self.dependencies],
            }
        )


def read_metadata(text: str, *, file: str) -> tuple[Metadata, tuple[str, ...]]:
    """Read a Chart.yaml: its contents, and a warning for each unknown field.

    `file` is the path by which errors name it. Raises `errors.ChartInvalid` with all faults.
    """
    checks = check.Checks(most=MAX_VIOLATIONS)
    warnings: list[str] = []
    try:
        documents = list(yaml_file.documents(checks, file, text))
        if len(documents) != 1:
            fields = "apiVersion, name and version"
            raise errors.InvalidField.of(file, f"has {len(documents)} documents; write one with {fields}")
        inner = check.Checks(most=MAX_VIOLATIONS)
        found = _Reader(inner, warnings, file).read(documents[0].value)
        try:
            inner.finish()
        except errors.InvalidField as error:
            checks.note(documents[0].located(error))
        checks.finish()
    except errors.InvalidField as error:
        raise errors.ChartInvalid(error.violations) from error
    return found, tuple(warnings)


class _Reader:
    """Reads the value of a Chart.yaml; faults are noted in the checks, unknown fields in the warnings."""

    def __init__(self, checks: check.Checks, warnings: list[str], file: str) -> None:
        self._checks = checks
        self._warnings = warnings
        self._file = file

    def read(self, value: JsonValue) -> Metadata:
        members = self._open("", value, _FIELDS, _IGNORED_FIELDS)
        annotations = _members(members.object("annotations"))
        depends_on = self._annotation(parse.child("annotations", DEPENDS_ON), annotations.pop(DEPENDS_ON, None))
        metadata = Metadata(
            api_version=self._api_version(members),
            name=members.text("name", _parse_chart_name, is_required=True),
            version=self._scalar(members, "version", constraint.parse_version, is_required=True),
            type=self._type(members),
            app_version=self._scalar(members, "appVersion", _line),
            kube_version=self._scalar(members, "kubeVersion", _line),
            description=self._scalar(members, "description", _text),
            keywords=members.texts("keywords", _line, most=MAX_ITEMS),
            home=members.text("home", _line),
            sources=members.texts("sources", _line, most=MAX_ITEMS),
            icon=members.text("icon", _line),
            maintainers=tuple(self._maintainers(members)),
            deprecated=members.boolean("deprecated"),
            annotations=self._annotations(annotations),
            dependencies=tuple(
                self._dependency(path, item) for path, item in members.items("dependencies", most=MAX_DEPENDENCIES)
            ),
            depends_on=depends_on,
        )
        self._refuse_repeated(metadata.dependencies)
        return metadata

    def _open(self, path: str, value: JsonValue, known: Sequence[str], ignored: Sequence[str] = ()) -> ClosedObject:
        """Open an object; an unknown member is left out with a warning, or silently if it has no value."""
        if isinstance(value, dict):
            for key in value:
                if key not in known and key not in ignored:
                    place = parse.child(path, key)
                    self._warnings.append(f"{self._file}: there is no field {place}; {nearest(key, known)}")
            value = {key: member for key, member in _members(value).items() if key in known}
        return ClosedObject(self._checks, path, value, known)

    def _api_version(self, members: ClosedObject) -> str:
        given = members.text("apiVersion", _line, is_required=True)
        if given == "v1":
            self._checks.refuse(
                "apiVersion",
                "v1 is that of Helm 2; write v2, and the entries of requirements.yaml as dependencies here",
            )
        elif given and given not in API_VERSIONS:
            self._checks.refuse("apiVersion", f"{parse.show(given)} is not known; write v2 or v3")
        return given

    def _type(self, members: ClosedObject) -> str:
        given = members.text("type", _line) or TYPES[0]
        if given not in TYPES:
            self._checks.refuse("type", f"{parse.show(given)} is not known; write application or library")
        return given

    def _scalar(self, members: ClosedObject, field_name: str, parse_text: Parse, *, is_required: bool = False) -> str:
        """Return a text that people write without quotes: the number 1.10 gives the text of its digits."""
        if is_required:
            members.demand(field_name)
        given = members.value(field_name)
        if given is None:
            return ""
        if (text := _scalar_text(given)) is None:
            members.refuse(members.path(field_name), "text", given)
            return ""
        return self._checks.take(parse_text, members.path(field_name), text)

    def _annotation(self, path: str, given: JsonValue) -> tuple[str, ...]:
        """Read the annotation of the order: a list of names, or the text of a JSON list as Helm needs it."""
        if given is None:
            return ()
        if isinstance(given, str):
            try:
                given = document.parse_json(path, given)
            except errors.InvalidField as error:
                reason = error.violations[0].description
                self._checks.refuse(
                    path, f'must be a list of names, or the text of a JSON list such as ["a"]: {reason}'
                )
                return ()
        if isinstance(given, list) and all(isinstance(item, str) and item for item in given):
            return tuple(dict.fromkeys(item for item in given if isinstance(item, str)))
        self._checks.refuse(path, f"must be a list of names of subcharts, and not {_describe(given)}")
        return ()

    def _annotations(self, given: JsonObject) -> dict[str, str]:
        found: dict[str, str] = {}
        for key, value in given.items():
            if (text := _scalar_text(value)) is None:
                self._checks.refuse(
                    parse.child("annotations", key),
                    f"must be text, and not {document.describe(value)}; put quotes around it",
                )
            else:
                found[key] = text
        return found

    def _maintainers(self, members: ClosedObject) -> Iterator[Mapping[str, str]]:
        for path, item in members.items("maintainers", most=MAX_ITEMS):
            maintainer = self._open(path, item, _MAINTAINER_FIELDS)
            yield {key: text for key in _MAINTAINER_FIELDS if (text := self._scalar(maintainer, key, _line))}

    def _dependency(self, path: str, item: JsonValue) -> Dependency:
        members = self._open(path, item, _DEPENDENCY_FIELDS, _IGNORED_DEPENDENCY_FIELDS)
        return Dependency(
            name=members.text("name", _parse_chart_name, is_required=True),
            version=self._scalar(members, "version", constraint.parse_range),
            repository=members.text("repository", _line),
            condition=members.text("condition", _line),
            tags=members.texts("tags", _line, most=MAX_ITEMS),
            alias=members.text("alias", names.parse_chart_name),
            import_values=tuple(self._imports(members)),
            depends_on=members.texts("depends-on", _parse_reference, most=MAX_DEPENDENCIES),
            inputs=members.object("inputs"),
        )

    def _imports(self, members: ClosedObject) -> Iterator[str | tuple[str, str]]:
        for path, item in members.items("import-values", most=MAX_ITEMS):
            match item:
                case str():
                    yield item
                case {"child": str() as child, "parent": str() as parent, **rest} if not rest:
                    yield child, parent
                case _:
                    self._checks.refuse(
                        path, f"must be a name below exports, or {{child: a.b, parent: c}}, and not {_describe(item)}"
                    )

    def _refuse_repeated(self, dependencies: Sequence[Dependency]) -> None:
        """Refuse two entries with the same name in the release, and invalid names."""
        first: dict[str, int] = {}
        for index, dependency in enumerate(dependencies):
            path = parse.child("dependencies", index)
            known = first.setdefault(dependency.effective_name, index)
            if known != index:
                self._checks.refuse(
                    path,
                    f"{parse.show(dependency.effective_name)} is also the name of dependencies[{known}]; "
                    "give one of them another alias",
                )
            if dependency.name and not dependency.alias:
                self._checks.take(names.parse_chart_name, parse.child(path, "name"), dependency.name)


def _members(value: JsonObject) -> JsonObject:
    return {key: member for key, member in value.items() if member is not None}


def _scalar_text(value: JsonValue) -> str | None:
    """Return the text of an unquoted scalar; None for lists and objects."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case list() | dict():
            return None
        case _:
            return str(value)


def _describe(value: JsonValue) -> str:
    if isinstance(value, list):
        return "a list with an item of another type"
    return document.describe(value)


def _parse_chart_name(path: str, text: str) -> str:
    """Check the name of a chart, which is also the name of its folder."""
    parse.parse_text(path, text, max_bytes=MAX_NAME_BYTES)
    if "/" in text or "\\" in text or text in {".", ".."}:
        raise errors.InvalidField.of(path, f"{parse.show(text)} cannot be the name of a folder; leave out / and \\")
    return text


def _parse_reference(path: str, text: str) -> str:
    return parse.parse_text(path, text, max_bytes=MAX_NAME_BYTES)


def _without_empty(members: JsonObject) -> JsonObject:
    return {key: value for key, value in members.items() if value not in (False, "", [], {})}
