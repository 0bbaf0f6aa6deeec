"""`make kill-units`: stop an agent at each point of an event, kill it or what it stands on there, and judge."""

import argparse
import asyncio
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from support.unit_kill import case, play
from tinkwell.server.app.dev import place

_SHOWN = 8


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
        played = play.Play(directory)
        complaints = asyncio.run(played.run(case.draw(random.Random(seed), arguments.points)))
        for log in directory.glob("*.log"):
            kept = arguments.output / str(seed) / log.name
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(log, kept)
    print(
        "\n".join((*_slowest(played), f"points     {arguments.points}", f"broken     {len(complaints)}", *complaints))
    )
    return 1 if complaints else 0


def _slowest(played: play.Play) -> Iterator[str]:
    """Tell how long it took until units were settled, of the slowest with what they waited for."""
    found = sorted(played.settled, key=lambda one: one[0])
    if found:
        yield f"settled    {found[len(found) // 2][0]:.1f} s after the kill (median), {found[-1][0]:.1f} s at most"
    for seconds, slow, notes in found[: -_SHOWN - 1 : -1]:
        yield f"  {seconds:5.1f} s  {slow.point} x {slow.fate}, {slow.event} ({slow.application})"
        yield from (f"             {note}" for note in notes)


if __name__ == "__main__":
    sys.exit(main())
