"""What each of the measurements of releases comes to."""

from dataclasses import dataclass

from bench.result import Table, Verdict


@dataclass(frozen=True, slots=True)
class Part:
    """A table, None where nothing could be measured, and the verdicts on it."""

    table: Table | None
    verdicts: tuple[Verdict, ...] = ()
