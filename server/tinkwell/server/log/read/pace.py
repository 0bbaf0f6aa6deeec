"""How eagerly a reader works."""

import dataclasses

from tinkwell.server.log.read.wake_policy import Limits


@dataclasses.dataclass(frozen=True, slots=True)
class Pace:
    """How eagerly the reader works; all in seconds."""

    # The shortest pause between polls. It grows with this process's load: at most half of a processor goes into polls.
    poll_seconds: float = 0.001
    # Polls follow each other for so long after one that found something, where pauses would cost more time than they
    # save work: a poll finds no more events than this, and the loop's other tasks use less of a processor in between.
    eager_seconds: float = 0.002
    eager_events: int = 2
    eager_others_seconds: float = 0.0004
    # Above a gap everything waits for whoever left it. The longer that lasts, the longer are the pauses, up to a bound:
    # this part of it, so that what comes late anyway comes hardly later.
    gap_share: float = 0.05
    longest_gap_pause_seconds: float = 0.05
    # Nobody waits for an event while nobody watches, and fewer polls leave more of the processors to writers. The first
    # watcher ends the pause.
    unwatched_seconds: float = 0.100
    awake_seconds: float = 0.010
    ask_again_seconds: float = 0.010
    # Who is awake and hears rings silences writers so often at most: as a rule another one sleeps, and it is in vain.
    silence_seconds: float = 0.5
    # Rings that tell of no event and come faster than this mean load, under which writers should not have to ring.
    calm_seconds: float = 0.005
    # How long an event is waited for that others have overtaken, before the log is read.
    linger_seconds: float = 0.002
    # How long the bell's session is waited for before the log is polled meanwhile, again and again: however long it
    # takes to answer, events are delayed by no more than this.
    bell_seconds: float = 0.05
    # A sleeper compares positions this often, should a ring have been lost against all reason.
    check_seconds: float = 1.0
    # Stays below a third of the bell session's idle timeout, which frees the bell of a frozen process.
    longest_sleep_seconds: float = 5.0
    first_backoff_seconds: float = 0.05
    longest_backoff_seconds: float = 2.0
    # Who holds the log back for so long is named in this process's log, and again after the longer time.
    warn_after_seconds: float = 5.0
    warn_again_seconds: float = 60.0
    limits: Limits = dataclasses.field(default_factory=Limits)

    def gap_pause_seconds(self, waited_seconds: float) -> float:
        """Say how long to pause above a gap that has lasted for so long."""
        return min(waited_seconds * self.gap_share, self.longest_gap_pause_seconds)
