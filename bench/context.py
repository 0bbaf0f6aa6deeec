"""What a benchmark is given, and the list entry that names it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from bench.cluster import Cluster
from bench.result import Outcome

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is run: quick shows in a minute or two that everything works, full measures."""

    name: Literal["quick", "full"]
    pairs: int

    def choose(self, *, quick: T, full: T) -> T:
        """Return the value for this scale."""
        return quick if self.name == "quick" else full


@dataclass(frozen=True, slots=True)
class Context:
    """The scale, the run's own PostgreSQL, and a directory for what is thrown away in the end."""

    scale: Scale
    cluster: Cluster
    directory: Path
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Case:
    """A benchmark by name."""

    name: str
    run: Callable[[Context], Awaitable[Outcome]]
