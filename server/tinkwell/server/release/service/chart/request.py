"""Requests that make a release of a chart, as far as they can be checked without the chart."""

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
    """A chart to bring about, named by its digest, with values as JSON text, empty for none.

    `secret_values` are JSON pointers into the values. `call` is what is asked for.
    """

    call: ClassVar[str] = "INSTALL"

    chart: str
    values: str
    secret_values: Sequence[str] = ()
    description: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade(Install):
    """The same for a release that is there, and with `install` for one that is not.

    The values lie over those of the former revision: over what was given for it, with `reset_values` over nothing, and
    with `reuse_values` over all that its chart and what was given for it came to.
    """

    call: ClassVar[str] = "UPGRADE"

    install: bool = False
    reset_values: bool = False
    reuse_values: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Upgrade):
    """What an upgrade would do."""

    call: ClassVar[str] = "PLAN"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AskedOfChart:
    """A request whose chart is still to be found: what stands at the pointers `secret` of its values is secret."""

    asked: Asked
    request: Install
    values: JsonObject = dataclasses.field(repr=False)
    secret: tuple[str, ...] = ()

    @property
    def upgrade(self) -> Upgrade | None:
        """The request, where it is one for an upgrade."""
        return self.request if isinstance(self.request, Upgrade) else None


def parse_request(request: Install) -> AskedOfChart:
    """Check a request; raises `errors.InvalidField`."""
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
