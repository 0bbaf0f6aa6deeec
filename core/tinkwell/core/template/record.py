"""A template as it is stored."""

import datetime
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Template:
    """A YAML text with references to devices; the data is "" in lists."""

    id: str
    version: int
    name: str
    data: str
    created_at: datetime.datetime
    updated_at: datetime.datetime
