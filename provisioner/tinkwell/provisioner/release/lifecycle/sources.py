"""Renders charts, with what handlers change of their values and templates before that."""

from tinkwell.core import errors
from tinkwell.core.release.kinds import Wait
from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.provisioner.release.core_event import Render
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.expression.naming import Release
from tinkwell.provisioner.release.lifecycle.announcer import Announcer
from tinkwell.provisioner.release.prepare.chart_render import Rendered
from tinkwell.provisioner.release.schema.check import Schemas
from tinkwell.provisioner.release.schema.values import check_values


async def render(
    announcer: Announcer,
    renderer: Render,
    release: Release,
    *,
    expressions: Expressions,
    schemas: Schemas,
    wait: Wait,
) -> Rendered:
    """Emit pre-render and render the charts; raises `errors.InvalidField` and `sandbox.errors.SandboxError`.

    Values that handlers have changed are checked as those that users give.
    """
    present = announcer.lifecycle.present
    await announcer.announce(Event.PRE_RENDER, present.root)
    assert present.charts is not None
    try:
        if changed := present.settle_values():
            await check_values(present.charts.root, schemas, of=changed)
    except errors.ChartInvalid:
        raise
    except errors.InvalidField as error:
        raise errors.InvalidField(
            errors.Violation(each.field, f"as {Event.PRE_RENDER} has made it, {each.description}")
            for each in error.violations
        ) from error
    charts = present.charts
    return await announcer.core(
        CoreEvent.RENDER, present.root, renderer.render(charts, release, expressions, wait=wait)
    )
