"""Run the benchmarks: `python -m bench --help`."""

import argparse
import asyncio
import json
import shutil
import sys
import time
from collections.abc import Sequence

from bench import catalog, cluster, machine, process, report
from bench.context import Case, Context, Scale
from bench.result import Outcome
from tinkwell.server.dev import place

_RESULTS = process.ROOT / "build" / "bench"
_PAGE = process.ROOT / "docs" / "benchmarks.md"
_PAIRS = {"quick": 1, "full": 10}


def main() -> int:
    """Run what was asked for; return 1 when a benchmark could not be run."""
    names = [case.name for case in catalog.CASES]
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, help="run this one; may be repeated")
    parser.add_argument("--pairs", type=int, help=f"how often each variant runs (default: {_PAIRS})")
    parser.add_argument("--scale", choices=["quick", "full"], default="full", help="quick shows that everything works")
    options = parser.parse_args()
    scale = Scale(options.scale, options.pairs or _PAIRS[options.scale])
    cases = [case for case in catalog.CASES if not options.only or case.name in options.only]
    outcomes, failures = asyncio.run(_run(cases, scale))
    print(f"\n{report.plain(report.verdicts(outcomes))}\n")
    for failure in failures:
        print(f"FAILED {failure}", file=sys.stderr)
    is_whole = len(outcomes) == len(catalog.CASES)
    if scale.name == "full" and is_whole:
        render()
        print(f"{_PAGE.relative_to(process.ROOT)} is written.")
    else:
        print(
            f"{_PAGE.relative_to(process.ROOT)} is left as it is: it takes its figures from a full run of everything."
        )
    return 1 if failures else 0


def render() -> None:
    """Write the page from the results of the last run."""
    run = json.loads((_RESULTS / "run.json").read_text())
    outcomes = [Outcome.load(_RESULTS / f"{case.name}.json") for case in catalog.CASES]
    report.write(_PAGE, outcomes, machine=run["machine"], command="make bench", pairs=run["pairs"])


async def _run(cases: Sequence[Case], scale: Scale) -> tuple[list[Outcome], list[str]]:
    shutil.rmtree(_RESULTS, ignore_errors=True)
    _RESULTS.mkdir(parents=True)
    outcomes: list[Outcome] = []
    failures: list[str] = []
    with place.temporary() as directory:
        async with cluster.running() as own:
            facts = machine.describe(own, commit=machine.revision(process.ROOT))
            run = {"machine": facts, "pairs": scale.pairs, "scale": scale.name}
            (_RESULTS / "run.json").write_text(json.dumps(run, indent=2, ensure_ascii=False) + "\n")
            for case in cases:
                began = time.monotonic()
                try:
                    outcome = await case.run(Context(scale, own, directory, _say))
                except Exception as error:
                    failures.append(f"{case.name}: {type(error).__name__}: {error}")
                    continue
                outcome.save(_RESULTS / f"{case.name}.json")
                outcomes.append(outcome)
                _say(f"{case.name} took {time.monotonic() - began:.0f} s")
    return outcomes, failures


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
