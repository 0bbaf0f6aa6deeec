"""What a run was like, for people: how much happened, which faults, and what was found."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from support.chaos.deck import Deck, K
from support.chaos.kind import Kind
from support.chaos.ledger import Ledger
from support.chaos.server import Server
from support.chaos.worker import Worker
from support.history.record import History, Violation, Watcher

_SHOWN_OF_EACH_RULE = 8
_SHOWN_ALARMS = 5


def tell(
    deck: Deck[Kind],
    servers: Sequence[Server],
    ledger: Ledger,
    history: History,
    violations: Sequence[Violation],
    *,
    seed: int,
    postgres: str,
) -> str:
    """Return the tables and the findings of a run."""
    return "\n".join(
        (
            *faults(deck),
            "",
            *_load(history, ledger),
            "",
            f"PostgreSQL {postgres}",
            *(line for server in servers for line in server_lines(server)),
            "",
            *findings(violations, seed),
        )
    )


def faults(deck: Deck[K]) -> Iterator[str]:
    """Tell how often each kind of fault was injected."""
    yield f"{'fault injected':<52} {'times':>6} {'in vain':>8}"
    for kind in deck.kinds:
        yield f"  {kind:<50} {deck.injected[kind]:>6} {deck.in_vain[kind]:>8}"
    yield f"  {'together':<50} {deck.injected.total():>6} {deck.in_vain.total():>8}"


def _load(history: History, ledger: Ledger) -> Iterator[str]:
    outcomes = ledger.outcomes()
    streams = [stream for watcher in history.watchers for stream in watcher.streams]
    ends = Counter(stream.end or "open at the end" for stream in streams)
    delivered = sum(len(stream.revisions) for stream in streams)
    responses = sum(1 for stream in streams for _ in stream.responses())
    rows = {id(row) for era in history.eras for row in era.rows}
    kept = history.present.rows
    drawn = kept[-1].revision if kept else 0
    yield f"events     {len(kept)} in the log, {drawn - len(kept)} revisions drawn in vain"
    yield f"histories  {len(history.eras)}, {len(rows) - len(kept)} events lost from one to the next"
    yield f"writers    {outcomes.total()} transactions: {counted(outcomes)}"
    yield f"watchers   {len(history.watchers)}, {len(streams)} streams: {counted(ends)}"
    yield f"delivered  {delivered} events in {responses} responses"


def server_lines(server: Server) -> Iterator[str]:
    """Tell how a server lived."""
    options = " ".join(server.options) or "one process"
    yield (
        f"server     {server.name} ({options}): started {server.starts} times, {len(server.failed_starts)} in vain,"
        f" at most {server.peak_kilobytes // 1024} MiB"
    )
    for failure in server.failed_starts:
        yield f"             did not start: {failure.strip().splitlines()[-1][:200]}"
    yield from alarms(server.alarms())


def worker_lines(worker: Worker) -> Iterator[str]:
    """Tell how a worker lived."""
    yield f"worker     {worker.name}: started {worker.starts} times"
    yield from alarms(worker.alarms())


def watchers(records: Sequence[Watcher]) -> Iterator[str]:
    """Tell how much watchers were told."""
    streams = [stream for watcher in records for stream in watcher.streams]
    delivered = sum(len(stream.revisions) for stream in streams)
    yield f"watchers   {len(records)}, {len(streams)} streams, {delivered} events delivered"


def alarms(lines: Iterable[str]) -> Iterator[str]:
    """Tell the most frequent of these lines of a log."""
    for line, count in Counter(map(_without_time, lines)).most_common(_SHOWN_ALARMS):
        yield f"             its log, {count} times: {line[:200]}"


def findings(violations: Sequence[Violation], seed: int) -> Iterator[str]:
    """Tell what was violated, the first ones of each rule in full."""
    yield f"violations {len(violations)} (seed {seed})"
    rules = Counter(violation.rule for violation in violations)
    if rules:
        yield f"  by rule: {counted(rules)}"
    for rule, count in rules.items():
        of_rule = [violation for violation in violations if violation.rule == rule]
        yield from (f"  {violation}" for violation in of_rule[:_SHOWN_OF_EACH_RULE])
        if count > _SHOWN_OF_EACH_RULE:
            yield f"  and {count - _SHOWN_OF_EACH_RULE} more of {rule}"


def counted(counts: Counter[str]) -> str:
    """Tell what was counted, the most frequent first."""
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def _without_time(line: str) -> str:
    return line.split(" ", 2)[2] if line[:2] == "20" and line.count(" ") > 2 else line
