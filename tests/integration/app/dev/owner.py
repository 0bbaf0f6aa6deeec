"""Runs an embedded PostgreSQL until it is killed; started by a test as a process of its own."""

import asyncio
import sys
from pathlib import Path

from tinkwell.server.app.dev import postgres


async def own(state_dir: Path, bin_dir: Path | None) -> None:
    """Run the cluster, and tell its process id once it answers."""
    async with postgres.embedded(state_dir, bin_dir=bin_dir, durable=False) as cluster:
        print(f"postgres {cluster.process.pid}", flush=True)
        await asyncio.get_running_loop().create_future()


asyncio.run(own(Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2:] else None))
