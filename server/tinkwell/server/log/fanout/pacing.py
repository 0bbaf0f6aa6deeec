"""How a busy log is spread over time where many watch it."""

import asyncio
import dataclasses
import time
from collections.abc import Callable


@dataclasses.dataclass(frozen=True, slots=True)
class Spread:
    """Lets a busy log reach many watchers in larger batches: the next waits in proportion to what the last ones cost.

    What comes after a pause goes out at once, so an idle log has no delay. Under load many watchers of the same get it
    in two halves, in turn: each half is handed its share, and takes it, in half the time. `call_soon`, `call_later` and
    `clock` are the event loop's; `processor` tells the seconds that its thread has used of a processor.
    """

    call_soon: Callable[[Callable[[], None]], object]
    call_later: Callable[[float, Callable[[], None]], asyncio.TimerHandle]
    clock: Callable[[], float]
    processor: Callable[[], float] = time.thread_time
    # Fewer get each batch at once; of more, what they write leaves together where they share a connection.
    few_watchers: int = 10
    # What handing a batch to one watcher costs, before any has been measured, and how much the latest counts.
    watcher_seconds: float = 0.00002
    latest_share: float = 0.1
    # The pause, to what the handing over cost. About as much again is to be done when the transport has taken it.
    times: float = 2.5
    # The loop's timers are no finer, so that a shorter pause would become as long.
    shortest_seconds: float = 0.001
    longest_seconds: float = 0.02
