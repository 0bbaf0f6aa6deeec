"""Run the benchmarks: `python -m bench --help`."""

import argparse
import asyncio
import json
import shutil
import signal
import sys
import time
from collections.abc import Sequence

from bench import catalog, cluster, huge_pages, machine, process, report
from bench.context import Case, Context, Scale
from bench.result import Outcome
from tinkwell.server.app.dev import place

_RESULTS = process.ROOT / "build" / "bench"
_PAGE = process.ROOT / "docs" / "explanation" / "benchmarks.md"
_PAIRS = {"quick": 1, "full": 10}


def main() -> int:
    """Run what was asked for; return 1 when a benchmark could not be run."""
    names = [case.name for case in catalog.CASES]
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, help="run this one; may be repeated")
    parser.add_argument("--pairs", type=int, help="how often each variant runs (default: 10; quick: 1)")
    parser.add_argument("--scale", choices=["quick", "full"], default="full", help="quick shows that everything works")
    options = parser.parse_args()
    scale = Scale(options.scale, options.pairs or _PAIRS[options.scale])
    cases = [case for case in catalog.CASES if not options.only or case.name in options.only]
    # Whichever way the run is ended, what it has changed on this machine is put back.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    outcomes, failures = asyncio.run(_run(cases, scale))
    print(f"\n{report.plain(report.verdicts(outcomes))}\n")
    for name, failure in failures.items():
        print(f"{name} could not be run: {failure}", file=sys.stderr)
    page = _PAGE.relative_to(process.ROOT)
    if scale.name == "full" and len(cases) == len(catalog.CASES):
        render()
        print(f"{page} is written.")
    else:
        print(f"{page} is left as it is: it takes its figures from a full run of everything.")
    return 1 if failures else 0


def render() -> None:
    """Write the page from the results of the last run."""
    run = json.loads((_RESULTS / "run.json").read_text())
    outcomes = [
        Outcome.load(_RESULTS / f"{case.name}.json") for case in catalog.CASES if case.name not in run["failures"]
    ]
    report.write(_PAGE, outcomes, run["failures"], machine=run["machine"], command=run["command"], pairs=run["pairs"])


async def _run(cases: Sequence[Case], scale: Scale) -> tuple[list[Outcome], dict[str, str]]:
    """Run the cases, save what they find, and return it, with the reasons of those that failed."""
    shutil.rmtree(_RESULTS, ignore_errors=True)
    _RESULTS.mkdir(parents=True)
    outcomes: list[Outcome] = []
    failures: dict[str, str] = {}
    with huge_pages.permitted(), place.temporary() as directory:
        async with cluster.running() as own:
            facts = machine.describe(own, commit=machine.revision(process.ROOT))
            for case in cases:
                began = time.monotonic()
                try:
                    outcome = await case.run(Context(scale, own, directory, _say))
                except Exception as error:
                    # The others shall run; the reason is shown in the end.
                    failures[case.name] = _reason(error)
                    _say(f"{case.name} failed")
                    continue
                outcome.save(_RESULTS / f"{case.name}.json")
                outcomes.append(outcome)
                _say(f"{case.name} took {time.monotonic() - began:.0f} s")
            run = {"machine": facts, "pairs": scale.pairs, "command": _command(scale), "failures": failures}
            (_RESULTS / "run.json").write_text(json.dumps(run, indent=2, ensure_ascii=False) + "\n")
    return outcomes, failures


def _command(scale: Scale) -> str:
    return "make bench" if scale.pairs == _PAIRS["full"] else f'make bench ARGS="--pairs {scale.pairs}"'


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
