"""Requests that make a release from a chart, with the checks that do not need the chart."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from tinkwell.core import errors
from tinkwell.core.secret import sensitive
from tinkwell.core.value import check, document
from tinkwell.core.value.document import JsonObject
from tinkwell.server.release.service import request as requests
from tinkwell.server.release.service.chart import charts
from tinkwell.server.release.store.request import Asked

MAX_VALUES_BYTES = 1024 * 1024


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Install(requests.Request):
    """A chart to install, named by its digest, with values as JSON text, empty for none.

    `secret_values` are JSON pointers into the values. `call` names the request.
    """

    call: ClassVar[str] = "INSTALL"

    chart: str
    values: str
    secret_values: Sequence[str] = ()
    description: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade(Install):
    """An upgrade of an existing release, or with `install` also of one that does not exist.

    The values are merged over those of the former revision: by default over its given values, with `reset_values` over
    nothing, and with `reuse_values` over the values that its chart and its given values resulted in.
    """

    call: ClassVar[str] = "UPGRADE"

    install: bool = False
    reset_values: bool = False
    reuse_values: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Upgrade):
    """A plan of an upgrade."""

    call: ClassVar[str] = "PLAN"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AskedOfChart:
    """A request whose chart is not loaded yet. The values at the pointers `secret` are secret."""

    asked: Asked
    request: Install
    values: JsonObject = dataclasses.field(repr=False)
    secret: tuple[str, ...] = ()

    @property
    def upgrade(self) -> Upgrade | None:
        """The request if it is an upgrade, else None."""
        return self.request if isinstance(self.request, Upgrade) else None


def parse_request(request: Install) -> AskedOfChart:
    """Check a request. Raises `errors.InvalidField`."""
    checks = check.Checks()
    checks.take(requests.parse_short_text, "description", request.description)
    checks.take(charts.parse_digest, "chart", request.chart)
    values: JsonObject = {}
    try:
        values = document.parse_json_object("values", request.values or "{}", max_bytes=MAX_VALUES_BYTES)
        sensitive.parse_pointers("secret_values", request.secret_values, values)
    except errors.InvalidField as error:
        checks.note(error)
    asked = requests.parse_asked(checks, request, "UPGRADE", description=request.description)
    return AskedOfChart(asked=asked, request=request, values=values, secret=tuple(request.secret_values))
