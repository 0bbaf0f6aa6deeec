"""A chain of ten, from nothing, beside docker-compose 1.29: each begins once the one before is done."""

import json
import shutil
import time
from pathlib import Path

from bench import statistic
from bench.context import Context
from bench.release import resource, site
from bench.release.part import Part
from bench.release.site import Site
from bench.result import Table, Verdict, number, span

WHAT, BOUND = "time of a fresh chain of ten to docker-compose 1.29", 0.5
_LENGTH = 10
_RELEASE = "chain"
_APPLY = "a release"
_DONE, _STARTED = "docker-compose, each done", "docker-compose, each started"
_VERSION = "1.29"
_PROJECT = "tinkwell-bench"


async def measure(context: Context, stage: Site) -> Part:
    """Measure each way in turn, after one of each that is not counted."""
    if reason := await missing():
        return Part(None, (Verdict.missing(WHAT, "≤", BOUND, reason=reason),))
    rounds = context.scale.choose(quick=1, full=context.scale.pairs)
    ways = (_APPLY, _DONE, _STARTED)
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    compose = context.directory / "compose"
    compose.mkdir()
    for counted, way in enumerate((*ways, *statistic.interleave(ways, rounds))):
        found = await (_apply(stage) if way == _APPLY else _compose(compose, stage, is_done=way == _DONE))
        if counted >= len(ways):
            seconds[way].append(found)
    ratio = statistic.ratio(seconds[_APPLY], seconds[_DONE])
    other = statistic.ratio(seconds[_APPLY], seconds[_STARTED])
    context.say(f"release: a fresh chain takes {number(ratio.median)} × docker-compose")
    cells = (span(statistic.spread(found)) for found in seconds.values())
    header = (*(f"{way}, s" for way in ways), "ratio to done", "ratio to started")
    table = Table(f"A chain of ten, {rounds} rounds", header, ((*cells, span(ratio), span(other)),))
    return Part(table, (Verdict.of(WHAT, ratio, "≤", BOUND),))


async def missing() -> str:
    """Say why docker-compose cannot be compared with; empty where it can."""
    if shutil.which("docker-compose") is None:
        return "there is no program docker-compose (Debian's package docker-compose)"
    said = (await site.output("docker-compose", "version", "--short")).strip()
    return "" if said.startswith(_VERSION) else f"docker-compose is {said}, not {_VERSION}"


async def _apply(stage: Site) -> float:
    """Install a chain of resources, and remove it; returns the seconds of the installation."""
    began = time.perf_counter()
    ended = await stage.apply(_RELEASE, resource.manifest(_LENGTH, is_chain=True))
    seconds = time.perf_counter() - began
    assert ended.changed_nodes == _LENGTH, "it is fresh"
    await stage.uninstall(_RELEASE)
    return seconds


async def _compose(folder: Path, stage: Site, *, is_done: bool) -> float:
    """Bring a chain of containers up, and take it down; returns the seconds of the former.

    Each does what a resource's action does, and begins once the one before has ended well, or only has started.
    """
    condition = "service_completed_successfully" if is_done else "service_started"
    services = {
        f"r{number}": {
            "image": resource.NAME,
            # There is nothing to give it a document.
            "entrypoint": ["/bin/busybox", "touch", f"{resource.DATA}/r{number}"],
            "volumes": [f"{stage.data}:{resource.DATA}"],
        }
        | ({"depends_on": {f"r{number - 1}": {"condition": condition}}} if number else {})
        for number in range(_LENGTH)
    }
    file = folder / "docker-compose.json"
    file.write_text(json.dumps({"version": "3.9", "services": services}))
    command = ("docker-compose", "--project-name", _PROJECT, "--file", str(file))
    began = time.perf_counter()
    await site.output(*command, "up", "--detach")
    seconds = time.perf_counter() - began
    await site.output(*command, "down")
    return seconds
