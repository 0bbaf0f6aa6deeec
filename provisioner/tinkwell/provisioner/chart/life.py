"""The events of the commands for charts, which run without a server: nobody keeps what came of them.

template    read-chart … post-validate, post-template
lint        read-chart … post-validate, pre-lint
package     read-chart, chart-loaded, pre-package, write-chart, post-package
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from tinkwell.core import errors
from tinkwell.core.release.chart.process import Unit
from tinkwell.core.release.kinds import Wait
from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.core.release.lifecycle_event.registry import Registry, WrongRegistry
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.provisioner.release.core_event import Render
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.expression.naming import Release
from tinkwell.provisioner.release.lifecycle import listener, saying, sources
from tinkwell.provisioner.release.lifecycle.announcer import Announcer
from tinkwell.provisioner.release.lifecycle.lifecycle import Lifecycle
from tinkwell.provisioner.release.lifecycle.listener import Function
from tinkwell.provisioner.release.lifecycle.occasion import Emitted, Occasion
from tinkwell.provisioner.release.lifecycle.subject import Subject
from tinkwell.provisioner.release.lua.scripts import Scripts
from tinkwell.provisioner.release.prepare.chart_render import Rendered
from tinkwell.provisioner.release.prepare.chart_source import Charts
from tinkwell.provisioner.release.schema.check import Schemas

_NEEDED = (CoreEvent.READ_CHART, CoreEvent.RENDER, CoreEvent.VALIDATE, CoreEvent.WRITE_CHART)


class KeepChart:
    """`read-chart`: the chart is read by then, as its options say."""

    async def read(self, charts: Charts) -> Charts:
        """Return the charts."""
        return charts


class CheckManifest:
    """`validate`: what needs no machine was checked as it was rendered."""

    async def validate(self, manifest: RenderedManifest) -> RenderedManifest:
        """Return what was rendered."""
        return manifest


class WriteChart:
    """`write-chart`: the archive of a chart goes to its file."""

    async def write(self, path: Path, data: bytes) -> None:
        """Write an archive; raises `OSError`."""
        await asyncio.to_thread(_write, path, data)


class ChartLife:
    """The events of one command for a chart."""

    def __init__(self, charts: Charts, lifecycle: Lifecycle, registry: listener.Lifecycle) -> None:
        self._charts = charts
        self._lifecycle = lifecycle
        self._registry = registry
        self._announcer = Announcer(lifecycle, record=_forget)
        self._schemas = Schemas()

    @property
    def root(self) -> Unit:
        """The chart with the values that handlers have given it."""
        charts = self._lifecycle.present.charts
        return charts.root if charts is not None else self._charts.root

    @property
    def manifest(self) -> RenderedManifest:
        """What was rendered."""
        manifest = self._lifecycle.present.manifest
        assert manifest is not None
        return manifest

    async def read(self) -> None:
        """Load the scripts, and say that the charts are loaded; raises `errors.InvalidField` and `SandboxError`."""
        path = self._charts.root.path
        reader = self._registry.find(CoreEvent.READ_CHART, KeepChart)
        charts = await self._announcer.core(CoreEvent.READ_CHART, path, reader.read(self._charts))
        self._lifecycle.begin(Subject(charts, None))
        await self._lifecycle.load()
        for each in self._lifecycle.paths:
            await self._announcer.announce(Event.CHART_LOADED, each)

    async def render(self, release: Release, expressions: Expressions, *, wait: Wait) -> Rendered:
        """Render the charts, and validate what comes of it; raises as `read`."""
        present = self._lifecycle.present
        renderer = self._registry.find(CoreEvent.RENDER, Render)
        rendered = await sources.render(
            self._announcer, renderer, release, expressions=expressions, schemas=self._schemas, wait=wait
        )
        present.render(rendered.manifest)
        await self.announce(Event.POST_RENDER)
        await self.announce(Event.PRE_VALIDATE)
        checker = self._registry.find(CoreEvent.VALIDATE, CheckManifest)
        await self._announcer.core(CoreEvent.VALIDATE, present.root, checker.validate(self.manifest))
        await self.announce(Event.POST_VALIDATE)
        return rendered

    async def announce(self, event: Event) -> None:
        """Emit an event of the root; raises `errors.InvalidField` where a handler fails."""
        await self._announcer.announce(event, self._charts.root.path)

    async def write(self, path: Path, data: bytes) -> None:
        """Write the archive of the chart, with the events around that; raises `OSError`, and as `read`."""
        await self.announce(Event.PRE_PACKAGE)
        writer = self._registry.find(CoreEvent.WRITE_CHART, WriteChart)
        await self._announcer.core(CoreEvent.WRITE_CHART, self._charts.root.path, writer.write(path, data))
        await self.announce(Event.POST_PACKAGE)

    async def close(self) -> None:
        """End the child processes."""
        await self._lifecycle.close()
        await self._schemas.close()


@contextlib.asynccontextmanager
async def of_chart(charts: Charts, known: Occasion, say: saying.Say) -> AsyncIterator[ChartLife]:
    """Give the life of a chart in one command; `say` is told what scripts print, and what they warn of.

    Raises `errors.InvalidField` for what is wrong beside this program.
    """
    registry: Registry[Function] = Registry(_NEEDED)
    registry.implement(CoreEvent.READ_CHART, KeepChart())
    registry.implement(CoreEvent.RENDER, Render())
    registry.implement(CoreEvent.VALIDATE, CheckManifest())
    registry.implement(CoreEvent.WRITE_CHART, WriteChart())
    try:
        registry.check()
        listener.load(registry)
    except WrongRegistry as error:
        raise errors.InvalidField.of("", str(error)) from error
    lifecycle = Lifecycle(known, listeners=registry.listeners, make=Scripts, say=say)
    lived = ChartLife(charts, lifecycle, registry)
    try:
        yield lived
    finally:
        await lived.close()


def occasion(release: Release, *, wait: Wait = Wait.ORDERED) -> Occasion:
    """Return what handlers know of a command for a chart, which changes nothing."""
    return Occasion(release=release, wait=wait, is_dry_run=True)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _forget(_emitted: Emitted) -> None:
    """Nobody asks for what came of the events of a command; what goes wrong is raised."""
