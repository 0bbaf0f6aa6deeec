"""Merges the metrics of several workers into one exposition. Each sample gets a label with its worker."""

from collections.abc import Iterable, Mapping

import prometheus_client
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

LABEL = "worker"


def merge(texts: Mapping[int, str], *, own: Iterable[Metric]) -> bytes:
    """Merge the workers' expositions by metric. The supervisor's own metrics come first."""
    families = {family.name: family for family in own}
    for worker, text in texts.items():
        for read in text_string_to_metric_families(text):
            family = families.setdefault(read.name, Metric(read.name, read.documentation, read.type))
            family.samples.extend(
                sample._replace(labels={LABEL: str(worker), **sample.labels}) for sample in read.samples
            )
    registry = prometheus_client.CollectorRegistry()
    registry.register(_Families(families.values()))
    return prometheus_client.generate_latest(registry)


class _Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families
