"""The pause between batches where many watchers get the same events."""

import asyncio
import dataclasses
import time
from collections.abc import Callable


@dataclasses.dataclass(frozen=True, slots=True)
class Spread:
    """Sends the events of a busy log to many watchers in larger batches, with a pause after each batch.

    A response costs the server and its client many times what an event in it costs, so fewer and larger responses leave
    more of the processor to both. The pause is proportional to the processor time that handing over the last batches
    took. Events that come after a pause go out at once, so that an idle log has no delay. `call_soon`, `call_later`
    and `clock` are those of the event loop; `processor` gives the processor time of its thread in seconds.
    """

    call_soon: Callable[[Callable[[], None]], object]
    call_later: Callable[[float, Callable[[], None]], asyncio.TimerHandle]
    clock: Callable[[], float]
    processor: Callable[[], float] = time.thread_time
    # Fewer watchers get each batch without a pause.
    few_watchers: int = 10
    # The processor time of handing a batch to one watcher until it is measured, and the weight of each measurement.
    watcher_seconds: float = 0.00002
    latest_share: float = 0.1
    # The pause in multiples of the processor time of handing over. The transport uses about as much again.
    times: float = 2.5
    # The resolution of the event loop's timers.
    shortest_seconds: float = 0.001
    longest_seconds: float = 0.02
