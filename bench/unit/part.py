"""What each of the measurements of units comes to."""

from dataclasses import dataclass

from bench.result import Table, Verdict


@dataclass(frozen=True, slots=True)
class Part:
    """Tables, and the verdicts on them."""

    tables: tuple[Table, ...]
    verdicts: tuple[Verdict, ...]
