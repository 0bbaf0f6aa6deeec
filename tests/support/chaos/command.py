"""The command of every kind of chaos: a run by its seed, which ends with 1 when a promise was broken."""

import argparse
import asyncio
import logging
import random
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from support.history.record import Violation
from tinkwell.server.app.dev import place


class Result(Protocol):
    """What a run came to."""

    @property
    def violations(self) -> Sequence[Violation]: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What was asked for: `rounds` is how often each kind of fault happens at least, `more` what else was given.

    All files go to the directory, which PostgreSQL can use as a state directory, and a history to `output`.
    """

    seed: int
    seconds: float
    rounds: int
    directory: Path
    output: Path
    is_kept: bool
    more: argparse.Namespace


def main(
    name: str,
    description: str | None,
    run: Callable[[Order], Awaitable[Result]],
    *,
    seconds: float,
    seconds_a_round: float,
    more: Sequence[tuple[str, dict[str, Any]]] = (),
) -> int:
    """Parse the arguments, with these options beside the usual ones, run, and tell."""
    arguments = _parse(name, description, seconds, more)
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.ERROR)
    logging.getLogger("support").setLevel(logging.INFO)
    print(f"seed {seed}, {arguments.seconds:.0f} s of faults", flush=True)
    kept = arguments.output / str(seed)
    with place.temporary() as directory:
        order = Order(
            seed=seed,
            seconds=arguments.seconds,
            rounds=max(1, int(arguments.seconds // seconds_a_round)),
            directory=directory,
            output=kept / "history.jsonl",
            is_kept=arguments.keep,
            more=arguments,
        )
        result = asyncio.run(_run(run, order))
        print(result.text, flush=True)
        kept.mkdir(parents=True, exist_ok=True)
        for log in directory.glob("*.log"):
            shutil.copy(log, kept)
        print(f"what happened is in {kept}")
    return 1 if result.violations else 0


def _parse(
    name: str, description: str | None, seconds: float, more: Sequence[tuple[str, dict[str, Any]]]
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=name, description=description)
    parser.add_argument("--seed", type=int, default=None, help="what to repeat; a new one by default")
    parser.add_argument("--seconds", type=float, default=seconds, help="how long faults are injected")
    parser.add_argument("--output", type=Path, default=Path("build") / name, help="where logs and history are kept")
    parser.add_argument("--keep", action="store_true", help="keep the history of a good run, too")
    for option, settings in more:
        parser.add_argument(option, **settings)
    return parser.parse_args()


async def _run(run: Callable[[Order], Awaitable[Result]], order: Order) -> Result:
    return await run(order)
