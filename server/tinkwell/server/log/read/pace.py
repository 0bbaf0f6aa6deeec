"""The times by which a reader polls, sleeps and retries."""

import dataclasses

from tinkwell.server.log.read.wake_policy import Limits


@dataclasses.dataclass(frozen=True, slots=True)
class Pace:
    """The times by which a reader polls, sleeps and retries. All but `eager_events` and `gap_share` are in seconds."""

    # The shortest pause between polls. It grows with this process's load: polls take at most half of a processor.
    poll_seconds: float = 0.001
    # The reader polls without a pause for `eager_seconds` after a poll that found something, if its last poll released
    # at most `eager_events` events, and the loop's other tasks used less than `eager_others_seconds` of a processor
    # since. Under more load a pause costs little time and saves polls.
    eager_seconds: float = 0.002
    eager_events: int = 2
    eager_others_seconds: float = 0.0004
    # While a revision is missing, the pause is this share of the time for which it has been missing, up to a bound. So
    # the events above it, which are late already, come hardly later.
    gap_share: float = 0.05
    longest_gap_pause_seconds: float = 0.05
    # The pause while there are no watchers. The first watcher ends it.
    unwatched_seconds: float = 0.100
    # A reader that is awake asks for the bell after this long without an event, or under little load.
    awake_seconds: float = 0.010
    # The time between two requests for the bell, and between two looks at the transactions that keep the log closed.
    ask_again_seconds: float = 0.010
    # The shortest time between two attempts of a reader that is awake to silence writers. Such an attempt is mostly in
    # vain, because another reader sleeps.
    silence_seconds: float = 0.5
    # A sleeping reader wakes if a ring without an event comes sooner than this after it began to wait for one.
    calm_seconds: float = 0.005
    # How long a reader waits for the ring of an event that others have overtaken, before it reads the log.
    linger_seconds: float = 0.002
    # How long a reader waits for an answer of the bell's session before it polls and waits again. Events are delayed
    # by no more than this, however long the session takes.
    bell_seconds: float = 0.05
    # How often a sleeping reader compares its position with the log's, in case a ring is lost.
    check_seconds: float = 1.0
    # Must stay below a third of the idle timeout of the bell's session, which frees the bell of a frozen process.
    longest_sleep_seconds: float = 5.0
    # The bounds of the pause before a lost connection is replaced. It grows while the database is out of reach.
    first_backoff_seconds: float = 0.05
    longest_backoff_seconds: float = 2.0
    # After this time the transactions that hold the log back are logged, and again after each `warn_again_seconds`.
    warn_after_seconds: float = 5.0
    warn_again_seconds: float = 60.0
    limits: Limits = dataclasses.field(default_factory=Limits)

    def gap_pause_seconds(self, waited_seconds: float) -> float:
        """Return how long to pause while a revision is missing, and has been for `waited_seconds`."""
        return min(waited_seconds * self.gap_share, self.longest_gap_pause_seconds)
