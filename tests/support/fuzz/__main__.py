"""`make fuzz`: hostile input of a seed to everything that listens; the exit code is 1 where something came of it."""

import argparse
import asyncio
import logging
import os
import random
import shutil
import sys
from pathlib import Path

from support.chaos.cluster import Cluster
from support.fuzz import run
from tinkwell.server.app.dev import place

# Strangers compute elsewhere, so they leave the processors here to servers and to whoever else asks.
_NICE = 5


def main() -> int:
    """Send what the options say."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="what to repeat; a new one by default")
    parser.add_argument("--messages", type=int, default=10_000, help="how many gRPC calls")
    parser.add_argument("--requests", type=int, default=500, help="how many HTTP requests")
    parser.add_argument("--connections", type=int, default=60, help="how many connections that break HTTP/2's rules")
    parser.add_argument("--only", type=int, default=None, help="the one call to make, by the number of its case")
    parser.add_argument("--output", type=Path, default=Path("build/fuzz"), help="where logs are kept")
    arguments = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.ERROR)
    logging.getLogger("support").setLevel(logging.INFO)
    print(f"seed {seed}", flush=True)
    kept = arguments.output / str(seed)
    with place.temporary() as directory:
        result = asyncio.run(_run(arguments, seed, directory))
        kept.mkdir(parents=True, exist_ok=True)
        for log in directory.glob("*.log"):
            shutil.copy(log, kept / log.name)
    print(result.text, flush=True)
    print(f"the servers' logs are in {kept}")
    return 1 if result.violations else 0


async def _run(arguments: argparse.Namespace, seed: int, directory: Path) -> run.Result:
    cluster = Cluster(directory, bin_dir=Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None)
    await cluster.start()
    try:
        return await run.run(
            run.Options(
                seed=seed,
                database_url=cluster.url,
                directory=directory,
                messages=arguments.messages,
                requests=arguments.requests,
                connections=arguments.connections,
                only=arguments.only,
            )
        )
    finally:
        await cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
