"""Templates, as calls return and events carry them."""

from dataclasses import dataclass
from datetime import datetime

from tinkwell.client.value import shaped
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.event.kinds import ResourceType


@shaped.resource(ResourceType.TEMPLATE)
@dataclass(frozen=True, slots=True)
class Template(Shaped):
    """A template: a YAML text with references to devices. `data` is that text, None in lists."""

    id: str
    name: str = ""
    version: int = 0
    data: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None
