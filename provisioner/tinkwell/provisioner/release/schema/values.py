"""Checks the values of charts against the schemas of the charts."""

from collections.abc import Collection

from tinkwell.core import errors
from tinkwell.core.release.chart import changing, process
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.secret import sensitive
from tinkwell.core.value import check, document
from tinkwell.provisioner.release.schema.check import Schemas, WrongConfig


async def check_values(root: Unit, schemas: Schemas, *, of: Collection[str] | None = None) -> tuple[str, ...]:
    """Check the values of all charts, or of the charts with these paths; raises `errors.InvalidField`.

    Returns the sorted JSON pointers, in the root's values, to the values that schemas mark as `writeOnly`. Raises
    `sandbox.errors.SandboxError` if the schema is not at fault.
    """
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    marked: set[str] = set()
    for unit, schema in process.schemas(root):
        if of is not None and unit.path not in of:
            continue
        try:
            found = await schemas.write_only(changing.field_of(unit.path), schema, unit.values)
            marked.update(sensitive.within(changing.place_of(unit.path), found))
        except WrongConfig as error:
            checks.note(error)
        except errors.InvalidField as error:
            raise errors.ChartInvalid.of(unit.chart.path(charts.SCHEMA), error.violations[0].description) from error
    checks.finish()
    return tuple(sorted(marked))
