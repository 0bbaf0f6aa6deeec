"""A manifest whose expressions are evaluated, except those that need the states of other resources.

    {"plugs": {NAME: {…}}, "resources": {PATH: {…}}, "outputs": {NAME: …}}

A path is a resource's name, or NAME[KEY] for one that `for_each` made. Resources have no `when` and no `for_each`, and
`dependencies` maps each alias to a path, or to the list of all paths that a `for_each` made.

The manifest of a chart also has "charts", and paths of resources begin with the path of their chart, `shop.store:disk`:

    "charts": {"shop": {"name": "shop", "version": "1.0.0", "batches": [["store"], ["shop"]],
                        "edges": [["store", "shop"]], "outputs": {…}}, "shop.store": {…, "inputs": {…}}}

The root has "values" if handlers have changed the values of any chart.

A second document says which texts are evaluated late, so that data can never be taken for an expression:

    {"resources": {PATH: {"pointers": ["/zone"], "names": {"disk": "my_disk"}, "each": {…}}}, "outputs": {…},
     "charts": {"shop.store": {"inputs": {"pointers": ["/host"]}, "outputs": {…}}}}

`pointers` lead into the config, those of `outputs` and `inputs` into the outputs and inputs. `names` says which
resources the names in these texts mean. `inputs` and `subcharts` mean those of the resource's chart; in the inputs of a
chart they mean those of its parent. All other names keep the values of the time when the manifest was rendered.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.core import errors
from tinkwell.core.release.manifest import chart_tree, name
from tinkwell.core.release.manifest import hook as hooks
from tinkwell.core.release.manifest.hook import Hook
from tinkwell.core.release.manifest.late import (
    NONE_LATE,
    Late,
    Target,
    paths_of,
    read_targets,
    targets_as_json,
)
from tinkwell.core.release.manifest.model import (
    MAX_KEY_BYTES,
    MAX_POINTERS,
    MAX_TIMEOUT_SECONDS,
    TIMEOUTS,
    Plug,
    without_defaults,
)
from tinkwell.core.value import check, closed_object, image, parse
from tinkwell.core.value.document import MAX_VIOLATIONS, JsonObject, JsonValue
from tinkwell.core.workflow import retry

MAX_RESOURCES = 5_000
MAX_EDGES = 20_000
# One message stores it together with a call's answer; a message has at most 4 MiB.
MAX_CONFIG_BYTES = 2 * 1024 * 1024
MAX_MANIFEST_BYTES = 8 * 1024 * 1024
# Including the root.
MAX_CHARTS = 2_001
MAX_CHART_TEXT_BYTES = 1_024
MAX_NOTES_BYTES = 1024 * 1024
MAX_SECRET_VALUES = 1_000

_RESOURCE_FIELDS = (
    *("type", "dependencies", "config", "readonly", "keep"),
    *("timeouts", "retries", "concurrency_key", "ignore", "sensitive", "hook"),
)
parse_notes = functools.partial(parse.parse_text, max_bytes=MAX_NOTES_BYTES, allow_empty=True, multiline=True)
_parse_short = functools.partial(parse.parse_text, max_bytes=MAX_CHART_TEXT_BYTES)
_CHART_FIELDS = ("name", "version", "batches", "edges", "inputs", "outputs", "notes", "values", "sensitive")
_NEEDED_OF_CHART = ("name", "version", "batches", "edges")
_MANIFEST_FIELDS = ("plugs", "resources", "outputs", "charts")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedResource:
    """A resource to install, or a hook. If `retries` is None, the image decides; `timeouts` are whole seconds."""

    type: str
    dependencies: Mapping[str, Target] = field(default_factory=dict)
    config: JsonObject = field(default_factory=dict)
    late: Late = NONE_LATE
    readonly: bool = False
    keep: bool = False
    timeouts: Mapping[str, int] = field(default_factory=dict)
    retries: int | None = None
    concurrency_key: str = ""
    ignore: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    hook: Hook | None = None

    @property
    def prerequisites(self) -> tuple[str, ...]:
        """The paths of all resources that it depends on, sorted, each once."""
        return tuple(sorted({path for target in self.dependencies.values() for path in paths_of(target)}))

    def as_json(self) -> JsonObject:
        """Return the JSON form, without `late`."""
        given = without_defaults(
            type=self.type,
            dependencies=targets_as_json(self.dependencies),
            config=self.config,
            readonly=self.readonly,
            keep=self.keep,
            timeouts=dict(self.timeouts),
            concurrency_key=self.concurrency_key,
            ignore=list(self.ignore),
            sensitive=list(self.sensitive),
        )
        if self.retries is not None:
            given["retries"] = self.retries
        if self.hook is not None:
            given["hook"] = self.hook.as_json()
        return given

    @classmethod
    def read(
        cls, checks: check.Checks, path: str, value: JsonValue, late: JsonValue, *, late_path: str
    ) -> "RenderedResource":
        """Read the JSON form and the document of its late texts."""
        members = closed_object.ClosedObject(checks, path, value, _RESOURCE_FIELDS)
        timeouts = members.inner("timeouts", TIMEOUTS)
        seconds = {timeout: timeouts.integer(timeout, low=1, high=MAX_TIMEOUT_SECONDS) for timeout in TIMEOUTS}
        config = members.object("config")
        return cls(
            type=members.text("type", image.parse_image, is_required=True),
            dependencies=read_targets(members, "dependencies", name.parse_alias),
            config=config,
            late=Late.read(checks, late_path, late, config),
            readonly=members.boolean("readonly"),
            keep=members.boolean("keep"),
            timeouts={timeout: given for timeout, given in seconds.items() if given is not None},
            retries=members.integer("retries", low=0, high=retry.MAX_RETRIES),
            concurrency_key=members.text("concurrency_key", parse_key),
            ignore=members.texts("ignore", name.parse_pointer, most=MAX_POINTERS),
            sensitive=members.texts("sensitive", name.parse_pointer, most=MAX_POINTERS),
            hook=hooks.read_member(members),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedChart:
    """A chart of a release.

    Names are effective names: those of its enabled direct subcharts, and its own for the chart itself. `batches` is the
    order of installation; the last batch has the chart's own name. The first name of an edge is installed before the
    second. `inputs` are given by its parent, and `outputs` to its parent. `notes` are for the user who installs the
    chart; only the root has them. `values` are those of all charts as the root has them, if handlers have changed any;
    only the root has them, and otherwise they follow from the chart and its source. `sensitive` are JSON pointers into
    these values, to those that schemas mark as secret.
    """

    name: str
    version: str
    batches: tuple[tuple[str, ...], ...]
    edges: tuple[tuple[str, str], ...] = ()
    inputs: JsonObject = field(default_factory=dict)
    late_inputs: Late = NONE_LATE
    outputs: JsonObject = field(default_factory=dict)
    late_outputs: Late = NONE_LATE
    notes: str = ""
    values: JsonObject | None = None
    sensitive: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        """Return the JSON form, without the late texts' document."""
        given: JsonObject = {
            "name": self.name,
            "version": self.version,
            "batches": [list(batch) for batch in self.batches],
            "edges": [list(edge) for edge in self.edges],
        }
        given |= without_defaults(
            inputs=self.inputs, outputs=self.outputs, notes=self.notes, sensitive=list(self.sensitive)
        )
        return given if self.values is None else given | {"values": self.values}

    def late_as_json(self) -> JsonObject:
        """Return the JSON form of the late texts."""
        return without_defaults(inputs=self.late_inputs.as_json(), outputs=self.late_outputs.as_json())

    @classmethod
    def read(
        cls, checks: check.Checks, path: str, value: JsonValue, late: JsonValue = None, *, late_path: str = "late"
    ) -> "RenderedChart":
        """Read the JSON form and the document of its late texts."""
        members = closed_object.ClosedObject(checks, path, value, _CHART_FIELDS)
        beside = closed_object.ClosedObject(checks, late_path, late or {}, ("inputs", "outputs"))
        for member in _NEEDED_OF_CHART:
            members.demand(member)
        inputs, outputs = members.object("inputs"), members.object("outputs")
        edges = _read_names(members, "edges", most=MAX_EDGES)
        if any(len(edge) != 2 for edge in edges):
            checks.refuse(members.path("edges"), "has an edge that is not a pair of names")
        return cls(
            name=members.text("name", _parse_short),
            version=members.text("version", _parse_short),
            batches=_read_names(members, "batches", most=MAX_CHARTS),
            edges=tuple((edge[0], edge[1]) for edge in edges if len(edge) == 2),
            inputs=inputs,
            late_inputs=Late.read(checks, beside.path("inputs"), beside.object("inputs"), inputs),
            outputs=outputs,
            late_outputs=Late.read(checks, beside.path("outputs"), beside.object("outputs"), outputs),
            notes=members.text("notes", parse_notes),
            values=members.object("values") if "values" in members else None,
            sensitive=members.texts("sensitive", name.parse_pointer, most=MAX_SECRET_VALUES),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedManifest:
    """All resources of a release by their paths, with the plugs that they may use, and the release's outputs.

    `charts` are the resources' charts by path, parents before children; empty without a chart. With charts, plugs have
    the path of their chart in front of their names, and the release's outputs are the root's.
    """

    plugs: Mapping[str, Plug] = field(default_factory=dict)
    resources: Mapping[str, RenderedResource] = field(default_factory=dict)
    outputs: JsonObject = field(default_factory=dict)
    late_outputs: Late = NONE_LATE
    charts: Mapping[str, RenderedChart] = field(default_factory=dict)

    def as_json(self) -> JsonObject:
        """Return the JSON form of the manifest."""
        given: JsonObject = {
            "plugs": {plug: self.plugs[plug].as_json() for plug in self.plugs},
            "resources": {path: self.resources[path].as_json() for path in self.resources},
            "outputs": self.outputs,
        }
        return given | without_defaults(charts={path: self.charts[path].as_json() for path in self.charts})

    def late_as_json(self) -> JsonObject:
        """Return the JSON form of the late texts."""
        late = {path: resource.late for path, resource in self.resources.items()}
        charts = {path: chart.late_as_json() for path, chart in self.charts.items()}
        given: JsonObject = {
            "resources": {path: late[path].as_json() for path in late if late[path] != NONE_LATE},
            "outputs": self.late_outputs.as_json(),
        }
        return given | without_defaults(charts={path: found for path, found in charts.items() if found})

    @property
    def installed(self) -> Mapping[str, RenderedResource]:
        """The resources that are part of the release: all but hooks."""
        return {path: resource for path, resource in self.resources.items() if resource.hook is None}

    @property
    def hooks(self) -> Mapping[str, Hook]:
        """The hooks by their paths."""
        return {path: resource.hook for path, resource in self.resources.items() if resource.hook is not None}

    @property
    def root(self) -> str:
        """The path of the root chart; "" without charts."""
        return next((path for path in self.charts if "." not in path), "")

    def plugs_by_chart(self) -> Mapping[str, Mapping[str, Plug]]:
        """Return the plugs that resources of a chart may use, by the chart's path and the plug's name in the chart.

        Without charts the path is ""; a chart without plugs is left out.
        """
        found: dict[str, dict[str, Plug]] = {}
        for path, plug in self.plugs.items():
            chart, own = name.split_chart(path)
            found.setdefault(chart, {})[own] = plug
        return found

    @classmethod
    def from_json(cls, value: JsonValue, late: JsonValue) -> "RenderedManifest":
        """Read both JSON forms; raises `errors.InvalidField`."""
        checks = check.Checks(most=MAX_VIOLATIONS)
        members = closed_object.ClosedObject(checks, "", value, _MANIFEST_FIELDS)
        beside = closed_object.ClosedObject(checks, "late", late, ("resources", "outputs", "charts"))
        late_resources, late_charts = beside.object("resources"), beside.object("charts")
        manifest = cls(
            plugs={key: Plug.read(checks, at, plug) for at, key, plug in members.members("plugs", _parse_plug)},
            resources={
                path: RenderedResource.read(
                    checks, at, resource, late_resources.get(path, {}), late_path=parse.child("late.resources", path)
                )
                for at, path, resource in members.members("resources", name.parse_path)
            },
            outputs=members.object("outputs"),
            late_outputs=Late.read(checks, "late.outputs", beside.object("outputs"), members.object("outputs")),
            charts={
                key: RenderedChart.read(
                    checks, at, chart, late_charts.get(key), late_path=parse.child("late.charts", key)
                )
                for at, key, chart in members.members("charts", name.parse_chart_path)
            },
        )
        _check_paths(checks, manifest)
        chart_tree.check_tree(checks, manifest.charts, manifest.resources)
        for path in late_resources.keys() - manifest.resources.keys():
            checks.refuse(parse.child("late.resources", path), "there is no such resource")
        for path in late_charts.keys() - manifest.charts.keys():
            checks.refuse(parse.child("late.charts", path), "there is no such chart")
        checks.finish()
        return manifest


def values_of(manifest: JsonObject) -> JsonObject | None:
    """Return the values that handlers have changed, from a manifest in its JSON form; None if there are none."""
    charts = manifest.get("charts")
    for path, chart in charts.items() if isinstance(charts, dict) else ():
        values = chart.get("values") if "." not in path and isinstance(chart, dict) else None
        if isinstance(values, dict):
            return values
    return None


def _parse_plug(path: str, text: str) -> str:
    """Check the name of a plug, with or without the path of its chart in front."""
    chart, own = name.split_chart(text)
    try:
        if chart:
            name.parse_chart_path(path, chart)
        name.parse_name(path, own)
    except errors.InvalidField as error:
        # The text is shown as a whole, so that masking finds each secret in it.
        why = f"{parse.show(text)} is not the name of a plug; write it as data, or as shop.store:data in a chart"
        raise errors.InvalidField.of(path, why) from error
    return text


def parse_key(path: str, text: str) -> str:
    """Check a concurrency key; "" means none."""
    return parse.parse_text(path, text, max_bytes=MAX_KEY_BYTES, allow_empty=True)


def _check_paths(checks: check.Checks, manifest: RenderedManifest) -> None:
    """Refuse dependencies and names that lead to no resource, to a hook, or from a hook."""
    hooked = manifest.hooks
    for path, resource in manifest.resources.items():
        at = parse.child("resources", path)
        for alias, target in resource.dependencies.items():
            field = f"{at}.dependencies.{alias}"
            _check_target(checks, manifest, field, target)
            for other in paths_of(target):
                hooks.refuse_dependency(checks, field, path, other, hooks=hooked)
        if path in hooked and resource.late.pointers:
            checks.refuse(parse.child("late.resources", path), f"{path} is a hook, of which nothing is evaluated late")
        for root, target in resource.late.names.items():
            _check_target(checks, manifest, f"{parse.child('late.resources', path)}.names.{root}", target)
    for root, target in manifest.late_outputs.names.items():
        _check_target(checks, manifest, f"late.outputs.names.{root}", target)
    for path, chart in manifest.charts.items():
        for root, target in chart.late_outputs.names.items():
            at = f"{parse.child('late.charts', path)}.outputs.names.{root}"
            _check_target(checks, manifest, at, target)


def _check_target(checks: check.Checks, manifest: RenderedManifest, at: str, target: Target) -> None:
    for path in paths_of(target):
        if path not in manifest.resources:
            checks.refuse(at, f"there is no resource {path}")


def _read_names(members: closed_object.ClosedObject, member: str, *, most: int) -> tuple[tuple[str, ...], ...]:
    """Read a list of lists of names."""
    found: list[tuple[str, ...]] = []
    for path, item in members.items(member, most=most):
        inner = closed_object.ClosedObject(members.checks, path, {"names": item}, ("names",))
        found.append(inner.texts("names", name.parse_chart_name, most=most))
    return tuple(found)
