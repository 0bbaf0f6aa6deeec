"""`make kill-units`: stop an agent at each point of an event, kill it or what it stands on there, and judge."""

import argparse
import asyncio
import random
import shutil
import sys
from pathlib import Path

from support.unit_kill import case, play
from tinkwell.server.app.dev import place


def main() -> int:
    """Play the cases of a seed; the exit code is 1 where a promise was broken."""
    parser = argparse.ArgumentParser(prog="kill-units", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="what to repeat; a new one by default")
    parser.add_argument("--points", type=int, default=200, help="how many cases")
    parser.add_argument("--output", type=Path, default=Path("build/kill-units"), help="where logs are kept")
    arguments = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    with place.temporary() as directory:
        complaints = asyncio.run(play.Play(directory).run(case.draw(random.Random(seed), arguments.points)))
        for log in directory.glob("*.log"):
            kept = arguments.output / str(seed) / log.name
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(log, kept)
    print("\n".join((f"points     {arguments.points}", f"broken     {len(complaints)}", *complaints)))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
