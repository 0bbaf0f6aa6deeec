"""Run storms of a charm of ops against the fake server, play each once more in `ops.testing`, and print what differs.

PYTHONPATH=tests python -m support.ops_storm --storms 5
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

import tinkwell.client
from support.ops_storm.storm import Found, storm
from tinkwell.client import testing


def main() -> int:
    """Return 1 if a storm differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first storm's seed; each next one's is one more")
    parser.add_argument("--storms", type=int, default=5, help="how many storms")
    parser.add_argument("--steps", type=int, default=8, help="how many requests there are in each")
    options = parser.parse_args()
    differences = 0
    for seed in range(options.seed, options.seed + options.storms):
        found = asyncio.run(_run(seed, options.steps))
        differences += len(found.differences)
        kinds = ", ".join(f"{name} {count}" for name, count in sorted(found.events.items()))
        print(f"storm {seed}: {sum(found.events.values())} events ({kinds}), {len(found.differences)} differences")
        for each in found.differences:
            print(f"  {each}")
    return 1 if differences else 0


async def _run(seed: int, steps: int) -> Found:
    with tempfile.TemporaryDirectory() as path:
        async with testing.FakeServer() as server, tinkwell.client.connect(server.address) as client:
            return await storm(client, Path(path), seed=seed, steps=steps)


if __name__ == "__main__":
    sys.exit(main())
