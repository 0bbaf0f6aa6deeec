"""Measures all that charts cost, part by part."""

from bench.chart import eager, preview, request, sequence, site, thousand
from bench.context import Context
from bench.result import Outcome

_COMPARES = """\
*In order* every subchart has one resource, whose state is asked for, changed by an action that sleeps, and asked for
again; calls are processes. An installation runs from the request to the end of the operation at the client. Twenty
subcharts that do not wait for each other, but for which the chart itself waits, are installed with `--wait ordered` and
`--wait none` in turn, all of them at once. The *chain* is ten of which each waits for the one before; beside it is the
sum of what its calls ran, from the start of each process to its end.

*Nested charts* are drawn by chance: four subcharts of two each, with edges on both levels, and never more than eight
resources at once. Beside the installation with `--wait eager` is the longest path through the calls by networkx.

*Many subcharts* are distinct, each with values, a template and a resource of its own, in ten layers; each waits for two
of the layer before. Edges and batches, and values as a whole, are computed in the benchmark's own process. The chart is
rendered and installed by a provisioner whose calls do nothing, with its processor time from the request until its plan
is stored, children included. Terraform's values are integers, each the one before plus one.

*Another caller* lists releases again and again while the large chart is uploaded and its installation asked for.
"""
_NOTES = (
    (
        "Of the chain and of nested charts the whole operation counts: the chart is rendered and its images are asked"
        " for `init` in it, too. Beside the sleeps alone it has three calls of each resource as well."
    ),
    "What networkx takes to be imported, once in a process, is not in the time of edges and batches.",
    (
        f"The bounds of values, of what is rendered and of memory are a third above what was measured first:"
        f" {thousand.COUNT:,} subcharts had no peer to be held against."
    ),
    (
        "A call of the other caller takes what PostgreSQL and the network take, too, and what else this machine does;"
        " the longest one while nothing else is asked stands beside it."
    ),
)


async def run(context: Context) -> Outcome:
    """Measure."""
    async with site.opened(context) as stage:
        parts = [await part.measure(context, stage) for part in (sequence, eager, preview)]
    parts += [await thousand.measure(context), await request.measure(context)]
    return Outcome(
        title="Charts",
        compares=_COMPARES,
        tables=tuple(part.table for part in parts if part.table is not None),
        verdicts=tuple(verdict for part in parts for verdict in part.verdicts),
        notes=_NOTES,
    )
