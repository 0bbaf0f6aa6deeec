"""Run storms of charms of ops on PostgreSQL, play each once more in `ops.testing`, and print what differs.

PYTHONPATH=tests python -m support.ops_storm --storms 5
"""

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import tinkwell.client
from support import server as server_support
from support.chaos.cluster import Cluster
from support.ops_storm.storm import Found, storm
from tinkwell.client import testing
from tinkwell.server.app.dev import place
from tinkwell.server.secret import keys


def main() -> int:
    """Return 1 if a storm differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first storm's seed; each next one's is one more")
    parser.add_argument("--storms", type=int, default=5, help="how many storms")
    parser.add_argument("--steps", type=int, default=8, help="how many requests there are in each")
    parser.add_argument("--fake", action="store_true", help="take the fake server, and no database")
    options = parser.parse_args()
    with place.temporary() as directory:
        differences = asyncio.run(_storms(options, directory))
    return 1 if differences else 0


async def _storms(options: argparse.Namespace, directory: Path) -> int:
    """Let one come after the other, and return how often they differ."""
    differences = 0
    async with _fake() if options.fake else _real(directory) as address:
        for seed in range(options.seed, options.seed + options.storms):
            async with tinkwell.client.connect(address) as client:
                with tempfile.TemporaryDirectory() as path:
                    found = await storm(client, Path(path), seed=seed, steps=options.steps)
            differences += len(found.differences)
            _tell(seed, found)
    return differences


def _tell(seed: int, found: Found) -> None:
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(found.events.items()))
    of_secrets = sum(count for name, count in found.events.items() if name.startswith("secret-"))
    print(
        f"storm {seed}: {sum(found.events.values())} events, {of_secrets} of secrets ({kinds}),"
        f" {len(found.differences)} differences",
        flush=True,
    )
    for each in found.differences:
        print(f"  {each}", flush=True)


@contextlib.asynccontextmanager
async def _fake() -> AsyncIterator[str]:
    async with testing.FakeServer() as server:
        yield server.address


@contextlib.asynccontextmanager
async def _real(directory: Path) -> AsyncIterator[str]:
    """Run PostgreSQL and a server, and yield its address."""
    cluster = Cluster(directory, bin_dir=Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None)
    keys.create(directory / "secret.keys")
    await cluster.start()
    try:
        async with server_support.running(cluster.url, secret_keys=directory / "secret.keys") as server:
            yield server.address
    finally:
        await cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
