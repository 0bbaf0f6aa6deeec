"""`make chaos`: a long run, by its seed, which ends with 1 when a promise was broken."""

import argparse
import asyncio
import logging
import random
import shutil
import sys
from pathlib import Path

from support.chaos import run
from tinkwell.server.app.dev import place

_SECONDS_A_ROUND = 60


def main() -> int:
    """Parse the arguments, run, and tell."""
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="what to repeat; a new one by default")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long faults are injected")
    parser.add_argument("--output", type=Path, default=Path("build/chaos"), help="where logs and history are kept")
    parser.add_argument("--keep", action="store_true", help="keep the history of a good run, too")
    arguments = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.ERROR)
    logging.getLogger("support").setLevel(logging.INFO)
    print(f"seed {seed}, {arguments.seconds:.0f} s of faults", flush=True)
    rounds = max(1, int(arguments.seconds // _SECONDS_A_ROUND))
    kept = arguments.output / str(seed)
    with place.temporary() as directory:
        options = run.Options(seed, arguments.seconds, rounds, directory, kept / "history.jsonl", arguments.keep)
        result = asyncio.run(run.run(options))
        print(result.text, flush=True)
        kept.mkdir(parents=True, exist_ok=True)
        for log in directory.glob("*.log"):
            shutil.copy(log, kept)
        print(f"what happened is in {kept}")
    return 1 if result.violations else 0


if __name__ == "__main__":
    sys.exit(main())
