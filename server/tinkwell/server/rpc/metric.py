"""What is counted about calls, for Prometheus."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import grpc
import prometheus_client

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


@dataclass(slots=True)
class Outcome:
    """How a call ended; a call that nobody waits for any more was cancelled."""

    code: grpc.StatusCode = grpc.StatusCode.CANCELLED


class CallMetrics:
    """Counts calls by method and code, their duration, and how many are being served."""

    def __init__(self, registry: prometheus_client.CollectorRegistry) -> None:
        self._calls = prometheus_client.Counter(
            "tinkwell_grpc_calls", "Calls that have ended.", ("method", "code"), registry=registry
        )
        self._seconds = prometheus_client.Histogram(
            "tinkwell_grpc_call_seconds",
            "How long calls took; a stream counts from its start to its end.",
            ("method",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._in_flight = prometheus_client.Gauge(
            "tinkwell_grpc_calls_in_flight", "Calls that are being served.", ("method",), registry=registry
        )

    @contextlib.contextmanager
    def call(self, method: str) -> Iterator[Outcome]:
        """Measure one call; whoever serves it sets the outcome."""
        outcome = Outcome()
        started = time.monotonic()
        self._in_flight.labels(method).inc()
        try:
            yield outcome
        finally:
            self._in_flight.labels(method).dec()
            self._seconds.labels(method).observe(time.monotonic() - started)
            self._calls.labels(method, outcome.code.name).inc()
