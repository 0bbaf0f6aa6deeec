"""One call of a resource beside `docker run --rm -i` of the same image with the same input."""

from bench import statistic
from bench.context import Context
from bench.release import resource
from bench.release.part import Part
from bench.release.site import Site, until
from bench.result import Table, Verdict, number, span

WHAT, BOUND = "time of a resource's call, reports and removal included, to docker run --rm -i", 0.6
_CALL, _PLAIN = "a call", "docker run --rm -i"
_RELEASE = "one"


async def measure(context: Context, site: Site) -> Part:
    """Ask for the state of an unchanged resource both ways in turn, after one of each that is not counted."""
    rounds = context.scale.choose(quick=2, full=3 * context.scale.pairs)
    manifest = resource.manifest(1)
    await site.apply(_RELEASE, manifest)
    (site.data / "r0").touch()
    await site.run_plainly("r0", "state")
    seconds: dict[str, list[float]] = {_CALL: [], _PLAIN: []}
    for name in statistic.interleave((_CALL, _PLAIN), rounds):
        seconds[name].append(await _call(site, manifest) if name == _CALL else await site.run_plainly("r0", "state"))
    ratio = statistic.ratio(seconds[_CALL], seconds[_PLAIN])
    context.say(f"release: a call takes {number(ratio.median)} × docker run")
    cells = tuple(span(statistic.spread(seconds[name]), scale=1000) for name in (_CALL, _PLAIN))
    table = Table(f"One call, {rounds} pairs", (f"{_CALL}, ms", f"{_PLAIN}, ms", "ratio"), ((*cells, span(ratio)),))
    return Part(table, (Verdict.of(WHAT, ratio, "≤", BOUND),))


async def _call(site: Site, manifest: str) -> float:
    """Return how long the one call of an unchanged release took."""
    before = len(site.calls())
    await site.apply(_RELEASE, manifest)
    await until(lambda: len(site.calls()) > before)
    return site.calls()[before]
