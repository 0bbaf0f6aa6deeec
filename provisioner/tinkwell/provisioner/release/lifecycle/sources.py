"""Renders charts after handlers have changed their values and templates."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.release.chart import process
from tinkwell.core.release.kinds import Wait
from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.core.value.document import JsonValue
from tinkwell.provisioner.release.core_event import Render
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.expression.naming import Release
from tinkwell.provisioner.release.lifecycle.announcer import Announcer
from tinkwell.provisioner.release.lifecycle.subject import Subject
from tinkwell.provisioner.release.prepare.chart_render import Rendered
from tinkwell.provisioner.release.schema.check import Schemas
from tinkwell.provisioner.release.schema.values import check_values

# Learns secrets; the arguments are the path of a document, the document, and JSON pointers to its secrets.
Learn: TypeAlias = Callable[[str, JsonValue, Iterable[str]], Awaitable[object]]


async def render(
    announcer: Announcer,
    renderer: Render,
    release: Release,
    *,
    expressions: Expressions,
    schemas: Schemas,
    wait: Wait,
    learn: Learn | None = None,
) -> Rendered:
    """Emit pre-render and render the charts; raises `errors.InvalidField` and `sandbox.errors.SandboxError`.

    Values that handlers have changed are checked like values of users; `learn` gets the secrets among them.
    """
    present = announcer.lifecycle.present

    async def settle() -> None:
        await _settle(present, schemas, learn)

    await announcer.announce(Event.PRE_RENDER, present.root, settle=settle)
    assert present.charts is not None
    charts = present.charts
    return await announcer.core(
        CoreEvent.RENDER, present.root, renderer.render(charts, release, expressions, wait=wait)
    )


async def _settle(present: Subject, schemas: Schemas, learn: Learn | None) -> None:
    """Check the values that handlers have changed, and mark the secrets among them."""
    try:
        changed = present.settle_values()
        if not changed or present.charts is None:
            return
        secret = await check_values(present.charts.root, schemas, of=changed)
        if learn is not None:
            await learn(process.USER_VALUES, present.charts.root.values, secret)
        present.mark_values(secret)
    except errors.ChartInvalid:
        raise
    except errors.InvalidField as error:
        raise errors.InvalidField(
            errors.Violation(each.field, f"as {Event.PRE_RENDER} has made it, {each.description}")
            for each in error.violations
        ) from error
