"""A machine as it is stored."""

import datetime
from dataclasses import dataclass

from tinkwell.core.hardware import network


@dataclass(frozen=True, slots=True)
class Hardware:
    """A machine; its metadata is JSON text, because the server does not look into it."""

    id: str
    version: int
    metadata: str
    network: network.Network
    created_at: datetime.datetime
    updated_at: datetime.datetime
