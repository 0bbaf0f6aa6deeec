"""The findings of the harness about a type of resources, one for each check."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tinkwell.core.process_log import terminal


class Verdict(StrEnum):
    """What a check has come to. A WARNING is about what works, but will surprise somebody."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "FAILED"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """A check: what was wrong, or why it was skipped, and what to do about it; both are empty where it is OK."""

    check: str
    verdict: Verdict
    problem: str = ""
    remedy: str = ""
    seconds: float = 0.0

    def as_json(self) -> dict[str, object]:
        """Give the JSON form."""
        return {
            "check": self.check,
            "verdict": self.verdict.value,
            "problem": self.problem,
            "remedy": self.remedy,
            "seconds": round(self.seconds, 3),
        }


def has_failed(findings: Sequence[Finding]) -> bool:
    """Say whether any check has failed."""
    return any(each.verdict is Verdict.FAILED for each in findings)


def table(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of a table of findings, and a line that counts them."""
    width = max(len(each.check) for each in findings)
    yield f"{'CHECK':<{width}}  RESULT   SECONDS  WHAT WAS WRONG, AND WHAT TO DO"
    for each in findings:
        # It quotes what the image printed.
        problem = map(terminal.escaped, each.problem.splitlines())
        first, *more = (*problem, *(f"→ {line}" for line in each.remedy.splitlines())) or ("",)
        yield f"{each.check:<{width}}  {each.verdict:<7}  {each.seconds:>6.1f}s  {first}".rstrip()
        for line in more:
            yield f"{'':<{width}}  {'':<7}  {'':>7}  {line}"
    counts = Counter(each.verdict for each in findings)
    words = {Verdict.OK: "ok", Verdict.FAILED: "failed", Verdict.WARNING: "with a warning", Verdict.SKIPPED: "skipped"}
    told = ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items() if counts[verdict])
    yield f"{len(findings)} checks: {told}"
