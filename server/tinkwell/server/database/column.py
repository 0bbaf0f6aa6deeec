"""Columns that many tables have, and JSON as text: Python's own JSON would round numbers."""

import sqlalchemy
from sqlalchemy import DateTime, Text
from sqlalchemy.dialects.postgresql import JSON, JSONB, UUID


def uuid() -> UUID[str]:
    return UUID(as_uuid=False)


def moment() -> DateTime:
    return DateTime(timezone=True)


def to_jsonb(text: str) -> sqlalchemy.ColumnElement[object]:
    """Make a jsonb value of JSON text."""
    return sqlalchemy.cast(sqlalchemy.literal(text, Text), JSONB)


def to_json(text: str) -> sqlalchemy.ColumnElement[object]:
    """Make a json value of JSON text; it is kept as it is written."""
    return sqlalchemy.cast(sqlalchemy.literal(text, Text), JSON)


def to_text(column: "sqlalchemy.ColumnElement[object]") -> sqlalchemy.ColumnElement[str]:
    """Read a JSON column as text."""
    return sqlalchemy.cast(column, Text)
