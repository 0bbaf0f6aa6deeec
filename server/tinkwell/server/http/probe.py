"""What those who run a server may ask about it, whoever answers: the server itself, or a supervisor for its workers."""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping

# By name, True or else what is wrong.
Checks = Mapping[str, bool | str]


@dataclasses.dataclass(frozen=True, slots=True)
class Probe:
    """The questions.

    `liveness` is whether the processes get to answer at all: what fails it for long is mended by a restart alone.
    `readiness` is whether calls are served. `metrics` is the exposition for Prometheus.
    """

    liveness: Callable[[], Awaitable[Checks]]
    readiness: Callable[[], Awaitable[Checks]]
    metrics: Callable[[], Awaitable[bytes]]
