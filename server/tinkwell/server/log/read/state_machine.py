"""Decides which step a reader takes next. It does no I/O, so a test can explore every interleaving of readers and
writers.

Theory of operation. A cycle names the next step, which is a statement or a wait. The reader takes the step and passes
its result to the cycle, which then names the next step. After a lost connection the reader calls `connect`: the
position and the gaps stay.

     HISTORY ──▶ LAST ──▶ OWNERS ⟲ ──▶ OPEN             where to begin, once nobody can commit anything below it
        │ begun before                  │
        ▼                               ▼
    ┌▶ READ ──▶ [KEPT] ──▶ [HOLDERS] ──▶ cut? READ       one poll: pages until one is complete
    │   │ without the bell        │ holding the bell
    │   ▼                         ├─▶ a gap is open, or time to leave: RELEASE ──▶ PAUSE
    └─ PAUSE                      └─▶ DOZE ──▶ rung: CLEAR ──▶ READ, still holding the bell
        │ time to sleep, no gap    ▲ ▲ ├──▶ timeout: COMPARE ──▶ DOZE, or CLEAR ──▶ READ
        ▼                          │ │ └──▶ event in a ring: DOZE, or, if there is a gap, LINGER
      CLEAR ──▶ REQUEST ──▶ READ,  │ └─ the missing event comes ──┘ └──▶ timeout: CLEAR ──▶ READ
                            holding the bell or refused

Why a reader never sleeps while an event waits. It dozes only if it holds the bell, has no gap, and has made a poll that
began after it got the bell and after it had cleared former rings. A writer that commits after that poll began has found
that it must ring. A writer that found that it need not ring had ended before the reader got the bell, so the poll saw
its rows. A writer that is rolled back does not ring; so a reader does not doze while it has a gap, because that
rollback is what closes the gap. After a ring the reader first reads the log and then gives the bell back, if at all, so
that giving it back delays no event.

A ring may bring the event itself. It comes after the commit, so if all earlier revisions are released or dead, the
event is released at once, without reading the log. Two writers may ring in another order than they drew their
revisions. Then the reader waits for the missing event, but only for a moment, since that one may have been rolled back.

The bell has a session of its own, which may take long to answer, or never answer. REQUEST and RELEASE wait for it only
a moment; then the reader polls, and waits for the answer again, as often as needed. The events of such a poll are
released, but the reader may not doze after it.

A ring that reaches an awake reader is in vain: another reader has just woken, or has died while it slept. After its
poll the awake reader takes RELEASE too, which lets writers be silent unless another reader sleeps.
"""

import enum

from tinkwell.core import errors
from tinkwell.core.event.event import Event
from tinkwell.core.event.page import History, Page, SourceLost
from tinkwell.server.log.read.order import Tail


class Step(enum.Enum):
    """What to do next. The comment beside each step names the methods that take its result."""

    HISTORY = "ask which history this is"  # identify
    LAST = "read the highest visible revision"  # begin
    OWNERS = "read the transactions that may still commit below the start"  # observe_owners
    OPEN = "accept watchers"  # opened
    READ = "read a page"  # observe
    KEPT = "read the first revision that is kept"  # observe_oldest
    HOLDERS = "read the transactions that may still commit a missing revision"  # observe_holders
    PAUSE = "wait for the next poll"  # rested
    CLEAR = "forget former rings"  # cleared
    REQUEST = "ask for the bell"  # asked, or delayed
    DOZE = "wait for a ring"  # told, dozed
    LINGER = "wait a moment for the ring of a missing event"  # told, lingered
    COMPARE = "read the highest drawn revision"  # compared
    RELEASE = "give the bell back"  # released, or delayed


class HistoryEnded(Exception):
    """Watchers cannot go on from their positions. `reason` is the error that they get."""

    def __init__(self, reason: errors.TinkwellError) -> None:
        self.reason = reason
        super().__init__(str(reason))


class Cycle:
    """The steps of one reader. `step` is the next one; the method that `Step` names beside it takes the result."""

    def __init__(self, *, waiting_bytes: int) -> None:
        self.step = Step.HISTORY
        self.history_id = ""
        self.tail = Tail(last=0, waiting_bytes=waiting_bytes)
        # The transactions that may still commit a revision below the start; None before they have been read.
        self.owners: frozenset[str] | None = None
        self._waiting_bytes = waiting_bytes
        self._is_begun = False
        self._start = 0
        # A page that is used only after it is known that no event in its range was forgotten before it was read.
        self._page: Page | None = None
        self._is_cut = False
        self._has_found = False
        self._has_bell = False
        # Whether the reader gives the bell back, or silences writers, after the next poll.
        self._leaves = False
        # The step, REQUEST or RELEASE, for which the bell has not answered yet.
        self._awaited: Step | None = None
        # The highest drawn revision for which this sleep has already polled without a ring. A revision up to it that
        # the poll did not find is dead, or its writer rings. 0 while awake.
        self._checked = 0

    @property
    def seen(self) -> int:
        """The highest revision that this reader has seen, or another source has released; 0 before the start."""
        return self.tail.tail

    @property
    def has_found(self) -> bool:
        """Whether the last poll found anything new."""
        return self._has_found

    @property
    def is_busy(self) -> bool:
        """Whether the last poll found anything new, or a revision is missing."""
        return self._has_found or self.tail.has_gaps

    def resume(self, *, history_id: str, released: int) -> None:
        """Go on after the revision `released`, up to which another source has released all events."""
        self.history_id = history_id
        self._start_at(released)

    def connect(self) -> None:
        """Begin again with a new session. The end of the former one has given the bell back."""
        self._page = None
        self._has_bell = self._leaves = False
        self._awaited = None
        self._checked = 0
        self.step = Step.HISTORY

    def identify(self, history: History) -> None:
        """Take the history. Raises `HistoryEnded` if the positions belong to another one."""
        if not self._is_begun:
            self.history_id = history.history_id
            self._start = history.oldest_revision - 1
            self.step = Step.LAST
        elif history.history_id != self.history_id:
            text = "the database is another one than before"
            raise HistoryEnded(errors.OtherHistory(text, history_id=history.history_id))
        else:
            self.tail.forget_holders()
            self._poll()

    def begin(self, last: int) -> None:
        """Take the highest visible revision."""
        self._start = max(self._start, last)
        self.owners = None
        self.step = Step.OWNERS

    def observe_owners(self, holders: frozenset[str]) -> None:
        """Take the holders, which were read after the highest revision.

        Once the first holders have ended, all events below that revision are visible.
        """
        self.owners = holders if self.owners is None else self.owners & holders
        if not self.owners:
            self._start_at(self._start)
            self.step = Step.OPEN

    def opened(self) -> None:
        """Go on after the hub has been opened."""
        self._poll()

    def observe(self, page: Page) -> list[Event]:
        """Take a page, which was read as `Tail.observe` says; return the events that it releases."""
        if self.tail.is_settling:
            self._page = page
            self.step = Step.KEPT
            return []
        return self._take(page)

    def observe_oldest(self, oldest: int) -> list[Event]:
        """Take the first revision that is kept. It is read after the page: forgotten events look like rolled-back ones.

        Returns the events that the page releases. Raises `HistoryEnded` if an event was forgotten before it was read.
        """
        assert self._page is not None
        page, self._page = self._page, None
        if oldest > self.tail.next:
            raise HistoryEnded(errors.Compacted(self.tail.next, oldest))
        return self._take(page)

    def observe_holders(self, holders: frozenset[str]) -> None:
        """Take the holders, which were read after the last page."""
        self.tail.observe_holders(holders)
        self._turn_page()

    def rested(self, *, is_quiet: bool, is_rung: bool) -> None:
        """Go on after a pause. `is_quiet` says that the log is quiet enough to ask for the bell.

        `is_rung` says that writers ring although this reader is awake, and that it may try to silence them.
        """
        if is_quiet and not self.tail.has_gaps:
            self.step = Step.CLEAR
        else:
            self._leaves = is_rung
            self._poll()

    def cleared(self) -> None:
        """Go on after former rings were forgotten. The next poll reads what they announced."""
        if self._has_bell:
            self._poll()
        else:
            self.step = Step.REQUEST

    def delayed(self) -> None:
        """Poll because the bell has not answered in time. After the poll, the same step comes again."""
        self._awaited = self.step
        self._poll()

    def asked(self, *, is_granted: bool) -> None:
        """Take the answer to the request for the bell. It is refused while a transaction may be writing without a
        ring."""
        self._awaited = None
        self._has_bell, self._leaves = is_granted, False
        self._poll()

    def dozed(self, *, is_rung: bool, leaves: bool) -> None:
        """Go on after a ring or a timeout. `leaves` says that the reader gives the bell back after the next poll."""
        self._leaves = leaves
        if is_rung or leaves:
            self._checked = 0
            self.step = Step.CLEAR
        else:
            self.step = Step.COMPARE

    def told(self, event: Event) -> list[Event]:
        """Take an event that came in a ring; return the events that it releases."""
        self._checked = 0
        if event.revision > self.tail.tail and not self.tail.may_advance:
            # There is no room for the event; it is read from the log later.
            self.step = Step.CLEAR
            return []
        released = self.tail.tell(event)
        self.step = Step.LINGER if self.tail.has_gaps else Step.DOZE
        return released

    def lingered(self) -> None:
        """Go on after another ring, or after a moment in which the missing event did not come."""
        self.step = Step.CLEAR

    def compared(self, drawn: int) -> None:
        """Take the highest drawn revision. Raises `SourceLost` if it is lower than a revision that was seen."""
        self.check_length(drawn)
        if drawn > max(self.seen, self._checked):
            self._checked = drawn
            self.step = Step.CLEAR
        else:
            self.step = Step.DOZE

    def check_length(self, drawn: int) -> None:
        """Raise `SourceLost` if the highest drawn revision is lower than a revision that was seen."""
        if drawn < self.seen:
            raise SourceLost("the log is shorter than it was")

    def released(self) -> None:
        """Go on after the bell was given back."""
        self._awaited = None
        self._has_bell = self._leaves = False
        self._checked = 0
        self.step = Step.PAUSE

    def _start_at(self, last: int) -> None:
        self.tail = Tail(last=last, waiting_bytes=self._waiting_bytes)
        self._is_begun = True

    def _poll(self) -> None:
        self._has_found = False
        self.step = Step.READ

    def _take(self, page: Page) -> list[Event]:
        before = self.tail.tail, self.tail.released
        released = self.tail.observe(page)
        self._has_found = self._has_found or (self.tail.tail, self.tail.released) != before
        self._is_cut = page.is_cut
        if self.tail.needs_holders:
            self.step = Step.HOLDERS
        else:
            self._turn_page()
        return released

    def _turn_page(self) -> None:
        if self._is_cut:
            self.step = Step.READ
        elif self._awaited is not None:
            self.step = self._awaited
        elif self._leaves or (self._has_bell and self.tail.has_gaps):
            self.step = Step.RELEASE
        elif self._has_bell:
            self.step = Step.DOZE
        else:
            self.step = Step.PAUSE
