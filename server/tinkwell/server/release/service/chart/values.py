"""Computes the result of a request for a chart: the values of the release, the secret ones among them, and all values.

Some of this takes long, so callers run it in a thread.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from tinkwell.core import errors
from tinkwell.core.release.chart import process as processing
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.chart.source import ChartSource
from tinkwell.core.release.chart.value import value
from tinkwell.core.secret import document as secret_document
from tinkwell.core.secret import sensitive
from tinkwell.core.value import document, parse, pointer
from tinkwell.core.value.document import JsonObject
from tinkwell.server.release.service import request as requests
from tinkwell.server.release.service.chart.request import AskedOfChart
from tinkwell.server.release.service.chart.value_schema import Slice
from tinkwell.server.release.store.request import Asked, NamedChart

MAX_KEPT_BYTES = 2 * 1024 * 1024
_USER_VALUES = "user_values"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Processed:
    """A request with its chart: the parts of both that are stored, and the values that they result in."""

    source: ChartSource
    unit: Unit


def process(
    given: AskedOfChart, chart: Chart, former: ChartSource | None = None, former_chart: Chart | None = None
) -> Processed:
    """Compute the result of a request.

    `former` is the revision that an upgrade starts from; its chart is loaded if it is needed. Raises
    `errors.ChartInvalid` and `errors.InvalidField`.
    """
    under: JsonObject = {}
    defaults: JsonObject | None = None
    if former is not None and given.upgrade is not None and not given.upgrade.reset_values:
        under = former.user_values
        if former_chart is not None:
            defaults = _kept(dataclasses.replace(former, strict=False).process(former_chart).values)
    source = ChartSource(
        digest=given.request.chart,
        name=chart.metadata.name,
        version=chart.metadata.version,
        user_values=value.overlay(given.values, under),
        strict=given.asked.options.strict,
        default_values=defaults,
    )
    unit = source.process(chart)
    charts.check_usable(each.chart for each in processing.units(unit))
    return Processed(source=source, unit=unit)


def _kept(values: JsonObject) -> JsonObject:
    """Return the values that an upgrade takes over. They may not be larger than the values of a chart."""
    if (size := len(document.dump_json(values).encode())) > MAX_KEPT_BYTES:
        why = f"all values of the former revision have {size:,} bytes; at most {MAX_KEPT_BYTES:,} can be kept"
        raise errors.InvalidField.of("reuse_values", why)
    return values


def slices(root: Unit) -> list[Slice]:
    """Return the values that have to be checked against a schema."""
    return [
        Slice(file=unit.chart.path(charts.SCHEMA), schema=schema, field=_field(unit), values=unit.values)
        for unit, schema in processing.schemas(root)
    ]


def asked(
    given: AskedOfChart, made: Processed, marked: Mapping[str, Iterable[str]], *, chart_id: str, former: int
) -> Asked:
    """Return the request in its stored form.

    `marked` has, by the fields of `slices`, the pointers to the values that a schema marks as secret. `former` is the
    number of the revision that an upgrade starts from, 0 for none. Raises `errors.InvalidField` for a secret that
    cannot be told from other text.
    """
    values = made.source.user_values
    pointers = sorted({*given.secret, *_marked(made.unit, marked)})
    # A value that a schema marks as secret may also be a default of the chart itself.
    texts = secret_document.texts_at("values", values, pointers)
    texts |= secret_document.texts_at("values", made.unit.values, pointers)
    shown = requests.without(given.asked, texts)
    modes = {}
    if given.upgrade is not None:
        modes = {name: getattr(given.upgrade, name) for name in ("install", "reset_values", "reuse_values")}
    told = {"chart": made.source.digest, "former": former, "description": shown.description}
    written = requests.write_call(given.request.call, **told, **modes)
    return dataclasses.replace(
        shown,
        call=written,
        source=made.source.as_json(),
        sensitive=sensitive.within((_USER_VALUES,), pointers),
        secrets=texts,
        chart=NamedChart(id=chart_id, name=made.source.name, version=made.source.version),
    )


def _marked(root: Unit, marked: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield the pointers into the root's values of everything that schemas mark as secret.

    Global values reach a chart from every chart above it.
    """
    for unit in processing.units(root):
        names = _names(unit)
        for text in marked.get(_field(unit), ()):
            parts = pointer.parse_pointer("schema", text)
            yield pointer.write_pointer((*names, *parts))
            if parts[:1] == (value.GLOBAL,):
                yield from (pointer.write_pointer((*names[:depth], *parts)) for depth in range(len(names)))


def _names(unit: Unit) -> tuple[str, ...]:
    return tuple(unit.path.split(".")[1:])


def _field(unit: Unit) -> str:
    field = "values"
    for name in _names(unit):
        field = parse.child(field, name)
    return field
