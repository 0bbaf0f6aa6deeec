"""`make chaos-workflows`: a run by its seed, which ends with 1 when a promise about workflows was broken."""

import argparse
import asyncio
import logging
import random
import shutil
import sys
from pathlib import Path

from support.workflow_chaos import run
from tinkwell.server.app.dev import place

_SECONDS_A_ROUND = 30


def main() -> int:
    """Parse the arguments, run, and tell."""
    parser = argparse.ArgumentParser(prog="workflow_chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="what to repeat; a new one by default")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long faults are injected")
    parser.add_argument("--workflows", type=int, default=None, help="how many; by default 200 in five minutes")
    parser.add_argument("--provisioners", type=int, default=3, help="how many share a state directory")
    parser.add_argument("--output", type=Path, default=Path("build/chaos-workflows"), help="where logs are kept")
    parser.add_argument("--keep", action="store_true", help="keep the history of a good run, too")
    arguments = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.ERROR)
    logging.getLogger("support").setLevel(logging.INFO)
    print(f"seed {seed}, {arguments.seconds:.0f} s of faults", flush=True)
    kept = arguments.output / str(seed)
    with place.temporary() as directory:
        options = run.Options(
            seed=seed,
            seconds=arguments.seconds,
            rounds=max(1, int(arguments.seconds // _SECONDS_A_ROUND)),
            directory=directory,
            output=kept / "history.jsonl",
            workflows=arguments.workflows or max(10, round(arguments.seconds / 1.5)),
            provisioners=arguments.provisioners,
            is_kept=arguments.keep,
        )
        result = asyncio.run(run.run(options))
        print(result.text, flush=True)
        kept.mkdir(parents=True, exist_ok=True)
        for log in directory.glob("*.log"):
            shutil.copy(log, kept)
        print(f"what happened is in {kept}")
    return 1 if result.violations else 0


if __name__ == "__main__":
    sys.exit(main())
