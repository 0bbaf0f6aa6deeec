"""Templates in protobuf."""

from tinkwell.api.v1 import template_service_pb2 as template_pb
from tinkwell.core.template.record import Template
from tinkwell.server.rpc import timestamp


def to_message(template: Template) -> template_pb.Template:
    """Write a template."""
    return template_pb.Template(
        id=template.id,
        name=template.name,
        version=template.version,
        data=template.data,
        created_at=timestamp.of(template.created_at),
        updated_at=timestamp.of(template.updated_at),
    )
