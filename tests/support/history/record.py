"""Records of a run: what the log held, what each writer knows, and what each watcher received.

They are plain data, compact enough for millions of deliveries, so that judging them needs nothing that was running.
"""

import dataclasses
import enum
from array import array
from collections.abc import Iterator, Sequence

# How a stream can end other than by a status: it has not, or its own watcher has left it.
OPEN = ""
LEFT = "LEFT"


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """An event as the table holds it. `token` is the mark that its writer put into the data, `digest` is of all of it.

    `created_at` is when the revision was drawn, in seconds since the epoch, by the clock that watchers use, too.
    """

    revision: int
    digest: int
    resource_type: str
    resource_id: str
    parent_id: str
    event_type: str
    name: str
    version: int
    token: str
    created_at: float


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
    """What a watcher asked for; an empty condition means all."""

    resource_types: frozenset[str] = frozenset()
    event_types: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    resource_id: str = ""

    def matches(self, row: Row) -> bool:
        """Whether the watcher must receive the event."""
        return (
            (not self.resource_types or row.resource_type in self.resource_types)
            and (not self.event_types or row.event_type in self.event_types)
            and (not self.names or row.name in self.names)
            and (not self.resource_id or self.resource_id in (row.resource_id, row.parent_id))
        )


class Outcome(enum.Enum):
    """How a transaction ended, as far as its writer knows."""

    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"
    # The connection died while the answer was on its way.
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A change that must be an event if its transaction was committed.

    `token` and `event_type` name it; `version` and `revision` are 0 where the writer never learned them.
    """

    token: str
    event_type: str
    resource_id: str = ""
    version: int = 0
    revision: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Transaction:
    """Changes that are committed together or not at all.

    `began` is a moment before its commit, `ended` one after its writer knew how it ended, in seconds since the epoch.
    """

    writer: str
    outcome: Outcome
    changes: Sequence[Change]
    began: float = 0.0
    ended: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Now:
    """Begin with what comes next."""


@dataclasses.dataclass(frozen=True, slots=True)
class Since:
    """Begin so many seconds back."""

    seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class FromRevision:
    """Begin with a revision of a history; an empty history is not compared."""

    revision: int
    history_id: str = ""


Start = Now | Since | FromRevision


class Stream:
    """One call of Watch: what was asked for, each response in order, and how it ended."""

    __slots__ = (
        "_counts",
        "_digests",
        "_marks",
        "_revisions",
        "created",
        "end",
        "ended_at",
        "histories",
        "live_at",
        "reason",
        "start",
    )

    def __init__(self, start: Start) -> None:
        self.start = start
        # When the first response came, in seconds since the epoch; 0 before it.
        self.live_at = 0.0
        # Which responses were marked as the first one.
        self.created: list[int] = []
        # Histories in the order in which responses named them, repetitions left out.
        self.histories: list[str] = []
        # OPEN, LEFT, or the name of a status, and what was said beside it.
        self.end = OPEN
        self.reason = ""
        # When it ended, in seconds since the epoch; 0 before.
        self.ended_at = 0.0
        self._revisions = array("q")
        self._digests = array("q")
        self._counts = array("q")
        self._marks = array("q")

    def add(
        self,
        events: Sequence[tuple[int, int]],
        *,
        bookmark: int,
        history_id: str,
        created: bool = False,
        at: float = 0.0,
    ) -> None:
        """Note a response: revisions with digests, and what it says of itself."""
        if not self._marks:
            self.live_at = at
        if created:
            self.created.append(len(self._marks))
        if not self.histories or self.histories[-1] != history_id:
            self.histories.append(history_id)
        self._revisions.extend(revision for revision, _ in events)
        self._digests.extend(digest for _, digest in events)
        self._counts.append(len(events))
        self._marks.append(bookmark)

    @property
    def is_live(self) -> bool:
        """Whether a first response came."""
        return bool(self._marks)

    @property
    def position(self) -> int:
        """The first revision that the stream promised to deliver."""
        return self._marks[0] + 1

    @property
    def reached(self) -> int:
        """The last revision that it is through with; 0 when it said nothing."""
        return max(self._marks[-1], self._revisions[-1] if self._revisions else 0) if self._marks else 0

    @property
    def bookmark(self) -> int:
        """The last bookmark; 0 when it said nothing."""
        return self._marks[-1] if self._marks else 0

    @property
    def revisions(self) -> "array[int]":
        """Everything that was delivered, in the order of delivery."""
        return self._revisions

    @property
    def digests(self) -> "array[int]":
        """The digests of the same."""
        return self._digests

    def responses(self) -> Iterator[tuple[int, int, int]]:
        """Yield for each response where its events begin and end among all, and its bookmark."""
        first = 0
        for count, mark in zip(self._counts, self._marks, strict=True):
            yield first, first + count, mark
            first += count


@dataclasses.dataclass(slots=True)
class Watcher:
    """A consumer: its streams one after the other, each of which goes on where the former ended.

    `handed` is what the client library handed out, None for one that reads streams by itself; `handed_up_to` is the
    revision that the library then told. Whoever `must_arrive` has to have reached the end of the log.
    """

    name: str
    selection: Selection
    streams: list[Stream] = dataclasses.field(default_factory=list)
    handed: "array[int] | None" = None
    handed_up_to: int = 0
    must_arrive: bool = True

    @property
    def reached(self) -> int:
        """The last revision that any of its streams is through with."""
        return max((stream.reached for stream in self.streams), default=0)


@dataclasses.dataclass(frozen=True, slots=True)
class Era:
    """A log from one change of history to the next: a database before and after a fail-over or a restore.

    `rows` are all that were ever in it, in revision order, those included that were forgotten meanwhile; a row that it
    has taken over from the former log is the same object. `oldest` is the first revision that was kept at its end.
    """

    history_id: str
    rows: Sequence[Row]
    oldest: int = 1
    # When the former log began to be taken away, and when this one was all there, in seconds since the epoch.
    begun_at: float = 0.0
    whole_at: float = 0.0
    # What was committed in the former log before this moment is in this one, too.
    holds_until: float = 0.0
    # Whether it came back piece by piece. Until it was whole, servers may have given it other names.
    is_piecemeal: bool = False


@dataclasses.dataclass(slots=True)
class History:
    """Everything that is known in the end: the logs one after the other, writers, and watchers."""

    eras: Sequence[Era]
    transactions: Sequence[Transaction]
    watchers: Sequence[Watcher]

    @property
    def present(self) -> Era:
        """The log as it is in the end."""
        return self.eras[-1]


@dataclasses.dataclass(frozen=True, slots=True)
class Violation:
    """A broken promise: which one (W1 to W10 of the contract), to whom, and an excerpt of what was seen."""

    rule: str
    who: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule} {self.who}: {self.text}"
