"""Every method of every service that a server has, by their descriptors, so that none can be forgotten."""

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf import descriptor
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

import tinkwell.api.tink
import tinkwell.api.v1

# Streams that last until somebody ends them.
_LASTING = ("Watch", "WatchLogs", "WatchUnits", "Logs", "DeprecatedWatch")


@dataclass(frozen=True, slots=True)
class Method:
    """A method, and how it is called."""

    path: str
    input_type: descriptor.Descriptor
    output_type: descriptor.Descriptor
    sends_many: bool
    answers_many: bool

    @property
    def lasts(self) -> bool:
        """Whether a call of it may have nothing to say for long."""
        name = self.path.rpartition("/")[2]
        return self.answers_many and (name in _LASTING or name == "GetWorkflowContexts")


def own() -> Sequence[Method]:
    """Return the methods on the server's own port."""
    return [*_of(tinkwell.api.v1), *_in(health_pb2), *_in(reflection_pb2)]


def tinkerbell() -> Sequence[Method]:
    """Return the methods on the port for Tinkerbell's tools."""
    return list(_of(tinkwell.api.tink))


def _of(package: Any) -> Iterator[Method]:
    for found in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        if found.name.endswith("_pb2"):
            yield from _in(importlib.import_module(f"{package.__name__}.{found.name}"))


def _in(module: Any) -> Iterator[Method]:
    for service in module.DESCRIPTOR.services_by_name.values():
        for found in service.methods:
            path = f"/{service.full_name}/{found.name}"
            yield Method(path, found.input_type, found.output_type, found.client_streaming, found.server_streaming)
