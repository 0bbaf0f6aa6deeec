"""Templates, read from protobuf."""

from tinkwell.api.v1 import (
    template_service_pb2,
)
from tinkwell.client.template.model import Template
from tinkwell.client.value import field


def template(source: template_service_pb2.Template) -> Template:
    """Read a template; one from a list has no data."""
    return Template(
        id=source.id,
        name=source.name,
        version=source.version,
        data=source.data or None,
        created_at=field.time(source, "created_at"),
        updated_at=field.time(source, "updated_at"),
    )
