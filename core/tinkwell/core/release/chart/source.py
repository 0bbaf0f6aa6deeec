"""The stored part of a request for a chart: the chart and the given values. Everything else follows from these.

As JSON it is the source of an operation and of its revision:

    {"chart": {"digest": …, "name": …, "version": …}, "user_values": {…}, "strict": …, "default_values": {…}}

`default_values`, if given, replace the values in the chart: an upgrade that keeps all values of the former revision has
that revision's values there.
"""

import dataclasses
from typing import cast

from tinkwell.core.release.chart import process as processing
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.value.document import JsonObject


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChartSource:
    digest: str
    name: str
    version: str
    user_values: JsonObject = dataclasses.field(repr=False)
    strict: bool = False
    default_values: JsonObject | None = dataclasses.field(default=None, repr=False)

    def as_json(self) -> JsonObject:
        """Give the JSON form."""
        found: JsonObject = {
            "chart": {"digest": self.digest, "name": self.name, "version": self.version},
            "user_values": self.user_values,
            "strict": self.strict,
        }
        return found if self.default_values is None else found | {"default_values": self.default_values}

    @classmethod
    def read(cls, source: JsonObject) -> "ChartSource | None":
        """Read the JSON form that `as_json` returned; None if the request had manifests and no chart."""
        if "chart" not in source:
            return None
        chart = cast("dict[str, str]", source["chart"])
        return cls(
            digest=chart["digest"],
            name=chart["name"],
            version=chart["version"],
            user_values=cast(JsonObject, source["user_values"]),
            strict=bool(source.get("strict")),
            default_values=cast("JsonObject | None", source.get("default_values")),
        )

    def process(self, chart: Chart) -> Unit:
        """Process the chart with the values; `chart` must be the one with the digest.

        Raises `errors.ChartInvalid` and `errors.InvalidField`.
        """
        if self.default_values is not None:
            # These values are from no file of the chart, so errors cannot tell lines.
            chart = dataclasses.replace(chart, values=self.default_values, values_text="")
        return processing.process(chart, self.user_values, strict=self.strict)
