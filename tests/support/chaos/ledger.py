"""What the writers know of what they did, written down as it happens."""

import hashlib
import re
import time
from collections import Counter
from collections.abc import Sequence

from support.history.record import Change, Outcome, Transaction

_TOKEN = re.compile(r"chaos-[a-z0-9]+-\d+-\d+")


def find_token(text: str) -> str:
    """Return the mark that a writer put into the data of an event; empty when there is none."""
    found = _TOKEN.search(text)
    return found.group() if found else ""


def digest(*parts: object) -> int:
    """Return 63 bits that tell one event from every other one."""
    text = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


class Ledger:
    """All transactions of a run. A fault that only a caller can see, such as an internal error, is a `complaint`."""

    def __init__(self) -> None:
        self.transactions: list[Transaction] = []
        self.complaints: list[str] = []

    def add(self, writer: str, outcome: Outcome, changes: Sequence[Change], *, began: float = 0.0) -> None:
        """Note a transaction that has just ended, and a moment before its commit; without changes there is nothing."""
        if changes:
            kept = tuple(changes) if isinstance(changes, list) else changes
            self.transactions.append(Transaction(writer, outcome, kept, began=began, ended=time.time()))

    def outcomes(self) -> Counter[str]:
        """Count the transactions by how they ended."""
        return Counter(transaction.outcome.value for transaction in self.transactions)


class Marks:
    """Makes the marks of one writer, each once in a run."""

    def __init__(self, writer: str) -> None:
        self._writer = writer
        self._transaction = 0
        self._change = 0

    @property
    def prefix(self) -> str:
        """What the marks of the present transaction begin with, and no others."""
        return f"chaos-{self._writer}-{self._transaction}-"

    def begin(self) -> None:
        """Begin another transaction."""
        self._transaction += 1
        self._change = 0

    def next(self) -> str:
        """Make a mark."""
        self._change += 1
        return f"{self.prefix}{self._change}"
