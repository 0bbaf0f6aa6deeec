"""Explanations of an operation, its nodes, and the origin of a chart's values."""

from dataclasses import dataclass, field

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client.release.message import NODE_KINDS, NODE_STATES
from tinkwell.client.value import shape
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.release.kinds import NodeKind, NodeState


@dataclass(frozen=True, slots=True)
class NodeExplanation(Shaped):
    """Why a node is in its state, in a sentence; `waits_for` are the paths of the nodes that must end first."""

    path: str
    kind: NodeKind = NodeKind.RESOURCE
    state: NodeState = NodeState.PENDING
    batch: int = 0
    sentence: str = ""
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EdgeExplanation(Shaped):
    """An edge between subcharts: this one comes after `before`. `sources` are the places that say so."""

    before: str
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DependencyExplanation(Shaped):
    """Whether a subchart is enabled; `sources` are the places that say so, the decisive one first."""

    path: str
    is_enabled: bool = False
    why: str = ""
    sources: tuple[str, ...] = ()
    edges: tuple[EdgeExplanation, ...] = ()


@dataclass(frozen=True, slots=True)
class ValueExplanation(Shaped):
    """Where a value comes from: `source` overrides the sources in `before`.

    `value` is JSON text; a long one is cut, and a secret one is empty.
    """

    key: str
    value: str = ""
    is_secret: bool = False
    source: str = ""
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation(Shaped):
    """The explanation of an operation. `left_off` counts the nodes or values that were left out of a long one."""

    operation_id: str
    sentence: str = ""
    nodes: tuple[NodeExplanation, ...] = field(default=(), metadata=shape.OPTIONAL)
    dependencies: tuple[DependencyExplanation, ...] = field(default=(), metadata=shape.OPTIONAL)
    values: tuple[ValueExplanation, ...] = field(default=(), metadata=shape.OPTIONAL)
    left_off: int = field(default=0, metadata=shape.OPTIONAL)


def explanation(source: pb.ExplainResponse) -> Explanation:
    """Read an explanation."""
    return Explanation(
        operation_id=source.operation_id,
        sentence=source.sentence,
        nodes=tuple(
            NodeExplanation(
                path=each.path,
                kind=NODE_KINDS.member(each.kind),
                state=NODE_STATES.member(each.state),
                batch=each.batch,
                sentence=each.sentence,
                waits_for=tuple(each.waits_for),
            )
            for each in source.nodes
        ),
        dependencies=tuple(_dependency(each) for each in source.dependencies),
        values=tuple(
            ValueExplanation(each.key, each.value, each.is_secret, each.source, tuple(each.before))
            for each in source.values
        ),
        left_off=source.left_off,
    )


def _dependency(source: pb.DependencyExplanation) -> DependencyExplanation:
    edges = tuple(EdgeExplanation(each.before, tuple(each.origins)) for each in source.edges)
    return DependencyExplanation(source.path, source.is_enabled, source.why, tuple(source.sources), edges)
