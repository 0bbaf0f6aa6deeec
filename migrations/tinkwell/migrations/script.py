"""What revisions do."""

import re
from pathlib import Path

import sqlalchemy
from alembic import context, op

from tinkwell.migrations import repeatable, statement

_TRIGGER_FUNCTION = re.compile(r"\bEXECUTE FUNCTION (\w+)\(")
# A trigger needs a function to be made, and the functions are made after the last revision.
_PLACEHOLDER = """
    CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'no file defines the function {name}';
    END $$
"""


def run(name: str) -> None:
    """Execute `sql/<name>.sql`.

    Functions of triggers that do not exist yet get a placeholder, which the repeatable files replace.
    """
    text = (_location() / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    for function in sorted(set(_TRIGGER_FUNCTION.findall(text))):
        if not _exists(f"{function}()"):
            op.execute(_PLACEHOLDER.format(name=function))
    statement.execute(op.get_bind(), text)


def drop_functions() -> None:
    """Drop every function that this release defines, whatever its arguments."""
    ours = sqlalchemy.text(
        "SELECT oid::regprocedure::text FROM pg_proc"
        " WHERE pronamespace = 'public'::regnamespace AND proname = ANY (:names)"
    )
    names = repeatable.functions(_location())
    for signature in op.get_bind().execute(ours, {"names": names}).scalars().all():
        op.execute(f"DROP FUNCTION {signature} CASCADE")


def _exists(signature: str) -> bool:
    found = sqlalchemy.text("SELECT to_regprocedure(:signature) IS NOT NULL")
    return bool(op.get_bind().execute(found, {"signature": signature}).scalar_one())


def _location() -> Path:
    location = context.config.get_main_option("script_location")
    assert location is not None
    return Path(location)
