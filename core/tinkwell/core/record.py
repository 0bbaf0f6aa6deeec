"""Resources as they are stored."""

import datetime
from dataclasses import dataclass

from tinkwell.core import network


@dataclass(frozen=True, slots=True)
class Hardware:
    """One machine; its metadata is JSON text, kept as text because nothing here looks into it."""

    id: str
    version: int
    metadata: str
    network: network.Network
    created_at: datetime.datetime
    updated_at: datetime.datetime


@dataclass(frozen=True, slots=True)
class Template:
    """A YAML text with references to devices; the data is empty in lists."""

    id: str
    version: int
    name: str
    data: str
    created_at: datetime.datetime
    updated_at: datetime.datetime
