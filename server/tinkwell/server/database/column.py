"""Columns that many tables have, and JSON as text: Python's own JSON would round numbers."""

import sqlalchemy
from sqlalchemy import DateTime, Text
from sqlalchemy.dialects.postgresql import JSON, UUID


def uuid() -> UUID[str]:
    return UUID(as_uuid=False)


def moment() -> DateTime:
    return DateTime(timezone=True)


def to_json(parameter: str) -> sqlalchemy.ColumnElement[object]:
    """Make a json value of the JSON text of a named parameter. The text is stored unchanged."""
    return sqlalchemy.cast(sqlalchemy.bindparam(parameter, type_=Text), JSON)


def to_text(column: "sqlalchemy.ColumnElement[object]") -> sqlalchemy.ColumnElement[str]:
    """Read a JSON column as text."""
    return sqlalchemy.cast(column, Text)
