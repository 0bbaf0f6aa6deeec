"""Machines, as calls return and events carry them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tinkwell.client.value import shaped
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.event.kinds import ResourceType


@shaped.resource(ResourceType.HARDWARE)
@dataclass(frozen=True, slots=True)
class Hardware(Shaped):
    """A machine; `network` is `{"interfaces": [{"dhcp": {…}, "netboot": {…}}]}`, without default values."""

    id: str
    version: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None
