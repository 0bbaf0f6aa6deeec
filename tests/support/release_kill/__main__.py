"""`make kill-releases`: stop a provisioner at its deeds, let it or the server die there, and judge what comes of it."""

import argparse
import asyncio
import logging
import random
import shutil
import sys
from pathlib import Path

from support.release_kill import case, run
from tinkwell.server.app.dev import place


def main() -> int:
    """Play the cases of a seed; the exit code is 1 where a promise was broken."""
    parser = argparse.ArgumentParser(prog="kill-releases", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="what to repeat; a new one by default")
    parser.add_argument("--points", type=int, default=200, help="how many cases")
    parser.add_argument("--charts", type=float, default=case.CHART_SHARE, help="the share of them that is of charts")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--output", type=Path, default=Path("build/kill-releases"), help="where logs are kept")
    arguments = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.ERROR)
    logging.getLogger("support").setLevel(logging.INFO)
    print(f"seed {seed}", flush=True)
    kept = arguments.output / str(seed)
    with place.temporary() as directory:
        options = run.Options(
            seed=seed,
            cases=case.draw(random.Random(seed), arguments.points, chart_share=arguments.charts),
            directory=directory,
            output=kept / "history.jsonl",
            jobs=arguments.jobs,
        )
        result = asyncio.run(run.run(options))
        print(result.text, flush=True)
        for log in directory.glob("**/*.log"):
            copy = kept / log.relative_to(directory)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(log, copy)
    print(f"what happened is in {kept}")
    return 1 if result.violations else 0


if __name__ == "__main__":
    sys.exit(main())
