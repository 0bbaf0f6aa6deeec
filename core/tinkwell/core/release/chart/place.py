"""Formats the place of a fault in a chart's files, as compilers do: `shop/Chart.yaml:7:5: dependencies[0].name: …`."""

import re

from tinkwell.core import errors

# The field of a violation is the path of a file, then a path in the file.
_FIELD = re.compile(
    r"(?P<file>.+/|.+?\.(?:yaml|yml|json|txt|tpl|lua))(?::(?P<line>\d+)|\.(?P<path>.+)|(?P<item>\[.+))?"
)
_PLACE = re.compile(r"line (\d+), column (\d+): ")


def describe(violation: errors.Violation, chart: str) -> str:
    """Return a violation as one line; `chart` is the chart's folder or archive as its user named it."""
    field = _FIELD.fullmatch(violation.field)
    place = _PLACE.match(violation.description)
    description = violation.description[place.end() if place else 0 :]
    if not field:
        where = ":".join(filter(None, (chart.rstrip("/"), *(place.groups() if place else ()))))
        return f"{where}: {violation.field}: {description}" if violation.field else f"{where}: {description}"
    known = place.groups() if place else (field["line"],) if field["line"] else ()
    where = ":".join((f"{chart.rstrip('/')}/{field['file']}", *known))
    path = field["path"] or field["item"]
    return f"{where}: {path}: {description}" if path else f"{where}: {description}"
