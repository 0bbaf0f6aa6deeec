"""Carries out the core events of operations; each core event has one object with one method.

The server carries out `list`, and the command line `write-chart`.
"""

import asyncio

from tinkwell.client.release import model
from tinkwell.core import errors
from tinkwell.core.release.decision.command import Finish
from tinkwell.core.release.kinds import Wait
from tinkwell.core.release.lifecycle_event.name import CoreEvent
from tinkwell.core.release.lifecycle_event.registry import Registry
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.value import check, parse
from tinkwell.provisioner.release.call.image_policy import ImagePolicy
from tinkwell.provisioner.release.call.plug import Machine, Plugs
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.expression.naming import Release
from tinkwell.provisioner.release.lifecycle.listener import Function, Lifecycle
from tinkwell.provisioner.release.prepare import chart_render, chart_source
from tinkwell.provisioner.release.prepare.chart_source import Charts
from tinkwell.provisioner.release.walk import Walk

VERBS = (CoreEvent.INSTALL, CoreEvent.UPGRADE, CoreEvent.ROLLBACK, CoreEvent.DELETE, CoreEvent.TEST)


class ReadChart:
    """`read-chart`: reads the charts and their values from the archive."""

    async def read(self, work: model.Work, manifest: RenderedManifest | None) -> Charts | None:
        """Read the charts of an operation; None if it has no charts. Raises `errors.InvalidField`."""
        return await asyncio.to_thread(chart_source.of_work, work, manifest)


class Render:
    """`render`: renders the charts to a manifest."""

    async def render(
        self, charts: Charts, release: Release, expressions: Expressions, *, wait: Wait
    ) -> chart_render.Rendered:
        """Render all charts; raises `errors.InvalidField` and `sandbox.errors.SandboxError`."""
        return await chart_render.render(charts, release, expressions, wait=wait)


class Validate:
    """`validate`: checks whether this machine can carry out a manifest."""

    def validate(self, manifest: RenderedManifest, *, images: ImagePolicy, machine: Machine, is_local: bool) -> None:
        """Check plugs and types; raises `errors.InvalidField` with every violation."""
        checks = check.Checks()
        if manifest.plugs and not is_local:
            checks.refuse(
                "plugs", "are files of the engine's machine, and this provisioner's engine may be another one"
            )
        for path, each in manifest.resources.items():
            checks.take(images.check, f"{parse.child('resources', path)}.type", each.type)
        for chart, plugs in manifest.plugs_by_chart().items():
            try:
                Plugs(machine, plugs, chart=chart)
            except errors.InvalidField as error:
                checks.note(error)
        checks.finish()


class CarryOut:
    """`install`, `upgrade`, `rollback`, `delete` and `test`: the walk through a plan."""

    async def carry_out(self, walk: Walk) -> Finish:
        """Walk to the end of the plan, and return how the operation ends."""
        return await walk.run()


def of_provisioner() -> Lifecycle:
    """Return the registry with the core events of a provisioner and no listeners."""
    registry: Registry[Function] = Registry((CoreEvent.READ_CHART, CoreEvent.RENDER, CoreEvent.VALIDATE, *VERBS))
    registry.implement(CoreEvent.READ_CHART, ReadChart())
    registry.implement(CoreEvent.RENDER, Render())
    registry.implement(CoreEvent.VALIDATE, Validate())
    for verb in VERBS:
        registry.implement(verb, CarryOut())
    registry.check()
    return registry
