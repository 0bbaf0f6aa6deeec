"""A machine as it is stored."""

import datetime
from dataclasses import dataclass

from tinkwell.core.hardware import network


@dataclass(frozen=True, slots=True)
class Hardware:
    """One machine; its metadata is JSON text, kept as text because nothing here looks into it."""

    id: str
    version: int
    metadata: str
    network: network.Network
    created_at: datetime.datetime
    updated_at: datetime.datetime
