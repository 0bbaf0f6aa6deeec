"""Which step a reader takes next: pure, so that every interleaving of readers and writers can be explored.

Theory of operation. A cycle names the step to take; whoever drives it takes that step, a statement or a wait, and tells
what came of it, which decides the next one. A lost connection is told by `connect`: the position and the gaps stay.

     HISTORY ──▶ LAST ──▶ OWNERS ⟲ ──▶ OPEN             where to begin, once nobody can commit anything below it
        │ begun before                  │
        ▼                               ▼
    ┌▶ READ ──▶ [KEPT] ──▶ [HOLDERS] ──▶ cut? READ       one poll: pages until one is whole
    │   │ without the bell        │ holding the bell
    │   ▼                         ├─▶ a gap is open, or time to leave: RELEASE ──▶ PAUSE
    └─ PAUSE                      └─▶ DOZE ──▶ rung: CLEAR ──▶ READ, still holding the bell
        │ time to sleep, no gap    ▲ ▲ ├──▶ a while: COMPARE ──▶ DOZE, or CLEAR ──▶ READ
        ▼                          │ │ └──▶ told of an event: DOZE, or, above a gap, LINGER
      CLEAR ──▶ REQUEST ──▶ READ,  │ └─ told of what is missing ──┘ └──▶ a moment: CLEAR ──▶ READ
                            holding the bell or refused

Why nothing is slept over: a reader dozes only with the bell, no gap, and after a poll that began after it got the bell
and after it forgot former rings. Whoever commits after that poll began has found that it must ring; who found that it
need not had ended before the reader was granted the bell, so the poll saw its rows. A writer that is rolled back
rings nobody, hence no doze above a gap: that rollback is what closes it. What a ring announces is read first and the
bell given back afterwards, if at all, so that this delays nothing.

A ring may tell of the event itself. It comes after the commit, so an event whose predecessors all are released or dead
is released at once, without a look at the log. Two writers may ring in another order than they drew: then what is
missing is waited for, but only for a moment, since it may have been rolled back.

The bell has a session of its own, which may take long to answer, or never. REQUEST and RELEASE do not wait for it:
after a moment a poll is made, and the answer is waited for again, as often as it takes. What is read meanwhile is
released; it is no poll that may be slept after.

A reader that is rung while it is awake is rung in vain: another one has just woken, or has died in its sleep. After its
poll it takes RELEASE as well, which lets writers be silent unless somebody sleeps.
"""

import enum

from tinkwell.core import errors
from tinkwell.core.event.event import Event
from tinkwell.core.event.page import History, Page, SourceLost
from tinkwell.server.log.read.order import Tail


class Step(enum.Enum):
    """What to do next; beside each the method that takes its result."""

    HISTORY = "ask which history this is"  # identify
    LAST = "read the highest visible revision"  # begin
    OWNERS = "read who may still commit below the start"  # observe_owners
    OPEN = "accept watchers"  # opened
    READ = "read a page"  # observe
    KEPT = "read from where on the log is kept"  # observe_oldest
    HOLDERS = "read who may still commit what is missing"  # observe_holders
    PAUSE = "wait for the next poll"  # rested
    CLEAR = "forget former rings"  # cleared
    REQUEST = "ask for the bell"  # asked, or delayed
    DOZE = "wait for a ring"  # told, dozed
    LINGER = "wait a moment for what others have not told of yet"  # told, lingered
    COMPARE = "read the highest drawn revision"  # compared
    RELEASE = "give the bell back"  # released, or delayed


class HistoryEnded(Exception):
    """Positions mean nothing any more; carries what watchers are told."""

    def __init__(self, reason: errors.TinkwellError) -> None:
        self.reason = reason
        super().__init__(str(reason))


class Cycle:
    """One reader's steps. `step` is the one to take; its result is told by the method named beside it in `Step`."""

    def __init__(self, *, waiting_bytes: int) -> None:
        self.step = Step.HISTORY
        self.history_id = ""
        self.tail = Tail(last=0, waiting_bytes=waiting_bytes)
        # Whoever may still commit a revision below the start; None before anybody was asked.
        self.owners: frozenset[str] | None = None
        self._waiting_bytes = waiting_bytes
        self._is_begun = False
        self._start = 0
        # A page that is believed only once it is known that nothing of it had been forgotten.
        self._page: Page | None = None
        self._is_cut = False
        self._has_found = False
        self._has_bell = False
        # Whether the bell is to be given back, or others' silenced, after the next poll.
        self._leaves = False
        # The step at which the bell has not answered yet.
        self._awaited: Step | None = None
        # The highest drawn revision that this sleep has polled for though nothing rang: what that did not find rings or
        # is dead. 0 while awake.
        self._checked = 0

    @property
    def seen(self) -> int:
        """The highest revision that was seen as a row, or that somebody released who saw it; 0 before the start."""
        return self.tail.tail

    @property
    def has_found(self) -> bool:
        """Whether the last poll found anything new."""
        return self._has_found

    @property
    def is_busy(self) -> bool:
        """Whether the last poll found anything new, or anything is missing."""
        return self._has_found or self.tail.has_gaps

    def resume(self, *, history_id: str, released: int) -> None:
        """Go on after a revision up to which everything has been released by another source."""
        self.history_id = history_id
        self._start_at(released)

    def connect(self) -> None:
        """Start over on a new session, whatever the former one was doing; its end has given the bell back."""
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
        """Take the holders, read after the highest revision; once the first ones are gone, all below it is visible."""
        self.owners = holders if self.owners is None else self.owners & holders
        if not self.owners:
            self._start_at(self._start)
            self.step = Step.OPEN

    def opened(self) -> None:
        """Go on after watchers have been let in."""
        self._poll()

    def observe(self, page: Page) -> list[Event]:
        """Take a page, asked for as `Tail.observe` says; return the events it releases."""
        if self.tail.is_settling:
            self._page = page
            self.step = Step.KEPT
            return []
        return self._take(page)

    def observe_oldest(self, oldest: int) -> list[Event]:
        """Take the first revision that is kept, read after the page: forgotten events look like rolled-back ones.

        Returns the events that the page releases. Raises `HistoryEnded` if any was forgotten before it was read.
        """
        assert self._page is not None
        page, self._page = self._page, None
        if oldest > self.tail.next:
            raise HistoryEnded(errors.Compacted(self.tail.next, oldest))
        return self._take(page)

    def observe_holders(self, holders: frozenset[str]) -> None:
        """Take the holders, read after the page that was observed last."""
        self.tail.observe_holders(holders)
        self._turn_page()

    def rested(self, *, is_quiet: bool, is_rung: bool) -> None:
        """Go on after a pause; `is_quiet` when so little has happened that it is time to ask for the bell.

        `is_rung` when writers ring, though this reader is awake, and it is time to do something about it.
        """
        if is_quiet and not self.tail.has_gaps:
            self.step = Step.CLEAR
        else:
            self._leaves = is_rung
            self._poll()

    def cleared(self) -> None:
        """Go on after former rings were forgotten; the poll that they called for comes after this."""
        if self._has_bell:
            self._poll()
        else:
            self.step = Step.REQUEST

    def delayed(self) -> None:
        """Poll while the bell does not answer; the step is taken up after that."""
        self._awaited = self.step
        self._poll()

    def asked(self, *, is_granted: bool) -> None:
        """Take the answer to the request for the bell: refused means that somebody may be writing silently."""
        self._awaited = None
        self._has_bell, self._leaves = is_granted, False
        self._poll()

    def dozed(self, *, is_rung: bool, leaves: bool) -> None:
        """Go on after a ring or a while; `leaves` when the bell is to be given back after the next poll."""
        self._leaves = leaves
        if is_rung or leaves:
            self._checked = 0
            self.step = Step.CLEAR
        else:
            self.step = Step.COMPARE

    def told(self, event: Event) -> list[Event]:
        """Take an event that a ring told of; return the events that this releases."""
        self._checked = 0
        if event.revision > self.tail.tail and not self.tail.may_advance:
            # The log keeps it until there is room.
            self.step = Step.CLEAR
            return []
        released = self.tail.tell(event)
        self.step = Step.LINGER if self.tail.has_gaps else Step.DOZE
        return released

    def lingered(self) -> None:
        """Go on after something else rang, or after a moment in which nobody told of what is missing."""
        self.step = Step.CLEAR

    def compared(self, drawn: int) -> None:
        """Take the highest drawn revision. Raises `SourceLost` if the log is shorter than it was."""
        self.check_length(drawn)
        if drawn > max(self.seen, self._checked):
            self._checked = drawn
            self.step = Step.CLEAR
        else:
            self.step = Step.DOZE

    def check_length(self, drawn: int) -> None:
        """Raise `SourceLost` if the highest drawn revision lies below what was seen."""
        if drawn < self.seen:
            raise SourceLost("the log is shorter than it was")

    def released(self) -> None:
        """Go on without the bell."""
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
