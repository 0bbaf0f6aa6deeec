"""Explanations as protobuf messages."""

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.server.release.api import message
from tinkwell.server.release.service.explaining import Explanation


def response(found: Explanation) -> pb.ExplainResponse:
    """Build the message of an explanation."""
    return pb.ExplainResponse(
        operation_id=found.operation_id,
        sentence=found.sentence,
        nodes=[
            pb.NodeExplanation(
                path=each.node.path,
                kind=message.NODE_KINDS.number(each.node.kind),
                state=message.NODE_STATES.number(each.node.state),
                batch=each.node.batch,
                sentence=each.sentence,
                waits_for=each.waits_for,
            )
            for each in found.nodes
        ],
        dependencies=[
            pb.DependencyExplanation(
                path=each.path,
                is_enabled=each.is_enabled,
                why=each.why,
                sources=each.sources,
                edges=[pb.EdgeExplanation(before=before, origins=origins) for before, origins in each.edges],
            )
            for each in found.dependencies
        ],
        values=[
            pb.ValueExplanation(
                key=each.key, value=each.value, is_secret=each.is_secret, source=each.source, before=each.before
            )
            for each in found.values
        ],
        left_off=found.left_off,
    )
