"""Writes the archive of a chart, with the events around that."""

from pathlib import Path

from tinkwell.core import errors
from tinkwell.core.release.chart.file import chart as charts
from tinkwell.provisioner.chart import life, rendering
from tinkwell.provisioner.chart.source import Opened
from tinkwell.provisioner.release.lifecycle import listener, saying
from tinkwell.provisioner.release.prepare.chart_source import Charts

_RELEASE = "release-name"


async def write(opened: Opened, path: Path, say: saying.Say) -> None:
    """Write the archive to a file; raises `errors.InvalidField`, `SandboxError` and `OSError`.

    `say` is told what scripts print, and what they warn of.

    What is packed is the chart as it is, so its values matter to its scripts alone, which see its own.
    """
    if not (listener.are_installed() or any(each.lua for each in charts.every(opened.chart))):
        await life.WriteChart().write(path, opened.data)
        return
    release = rendering.release_of(_RELEASE, "default", is_upgrade=False)
    async with life.of_chart(Charts(opened.process(strict=False)), life.occasion(release), say) as lived:
        try:
            await lived.read()
            await lived.write(path, opened.data)
        except errors.ChartInvalid:
            raise
        except errors.InvalidField as error:
            raise errors.ChartInvalid(error.violations) from error
