"""One call of a resource beside `docker run --rm -i` of the same image with the same input."""

from bench import statistic
from bench.context import Context
from bench.release import resource
from bench.release.part import Part
from bench.release.site import Site, until
from bench.result import Table, Verdict, number, span

WHAT, BOUND = "time of a resource's container, its removal included, to docker run --rm -i", 0.6
_CALL, _PLAIN = "a call", "docker run --rm -i"
_RELEASE = "one"


async def measure(context: Context, site: Site) -> Part:
    """Ask for the state of an unchanged resource both ways in turn, after one of each that is not counted."""
    rounds = context.scale.choose(quick=2, full=3 * context.scale.pairs)
    manifest = resource.manifest(1)
    await site.apply(_RELEASE, manifest)
    (site.data / "r0").touch()
    await site.run_plainly("r0", "state")
    calls: list[tuple[float, float]] = []
    plain: list[float] = []
    for name in statistic.interleave((_CALL, _PLAIN), rounds):
        if name == _CALL:
            calls.append(await _call(site, manifest))
        else:
            plain.append(await site.run_plainly("r0", "state"))
    in_engine, whole = ([taken[place] for taken in calls] for place in (0, 1))
    ratio, with_reports = statistic.ratio(in_engine, plain), statistic.ratio(whole, plain)
    context.say(f"release: a call takes {number(ratio.median)} × docker run")
    cells = tuple(span(statistic.spread(found), scale=1000) for found in (in_engine, whole, plain))
    header = ("a call in the engine, ms", "with its reports, ms", f"{_PLAIN}, ms", "ratio", "with reports")
    table = Table(f"One call, {rounds} pairs", header, ((*cells, span(ratio), span(with_reports)),))
    return Part(table, (Verdict.of(WHAT, ratio, "≤", BOUND),))


async def _call(site: Site, manifest: str) -> tuple[float, float]:
    """Return how long the one call of an unchanged release took, as `Site.calls` does."""
    before = len(site.calls())
    await site.apply(_RELEASE, manifest)
    await until(lambda: len(site.calls()) > before)
    return site.calls()[before]
