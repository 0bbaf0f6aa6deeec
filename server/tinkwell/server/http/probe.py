"""The health questions of operators, which the server itself answers, or a supervisor for its workers."""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping

# By name: True, or the reason for a failure.
Checks = Mapping[str, bool | str]


@dataclasses.dataclass(frozen=True, slots=True)
class Probe:
    """The questions.

    `liveness`: whether the processes answer at all; if that fails for long, only a restart helps. `readiness`: whether
    calls are served. `metrics`: the exposition for Prometheus.
    """

    liveness: Callable[[], Awaitable[Checks]]
    readiness: Callable[[], Awaitable[Checks]]
    metrics: Callable[[], Awaitable[bytes]]
