"""Runs SQL files on the connection of the migration."""

import re
import typing
from importlib import resources

import sqlalchemy
from alembic import op
from sqlalchemy.engine import interfaces

# In this order: a room's tables may refer to those of the rooms before it.
ROOMS = ("event", "lease", "hardware", "template", "workflow")
_KINDS = ("table", "shape", "function", "trigger")
_SQL = resources.files("tinkwell.migrations").joinpath("sql")
_FUNCTION = re.compile(r"^CREATE (?:OR REPLACE )?FUNCTION (\w+)", re.MULTILINE)


def run(name: str) -> None:
    """Execute `sql/<name>.sql`. It holds several statements, which only the driver itself can execute."""
    text = _read(name)
    connection = typing.cast("interfaces.AdaptedConnection", op.get_bind().connection.dbapi_connection)
    connection.run_async(lambda driver: driver.execute(text))


def run_rooms() -> None:
    """Execute all files of all rooms."""
    for room in ROOMS:
        for kind in _KINDS:
            if _SQL.joinpath(room, f"{kind}.sql").is_file():
                run(f"{room}/{kind}")


def drop_functions() -> None:
    """Drop every function that the rooms' files define."""
    bind = op.get_bind()
    ours = sqlalchemy.text(
        "SELECT oid::regprocedure::text FROM pg_proc"
        " WHERE pronamespace = 'public'::regnamespace AND proname = ANY (:names)"
    )
    for signature in bind.execute(ours, {"names": _functions()}).scalars().all():
        bind.exec_driver_sql(f"DROP FUNCTION {signature} CASCADE")


def _functions() -> list[str]:
    texts = (file.read_text(encoding="utf-8") for room in ROOMS for file in _SQL.joinpath(room).iterdir())
    return [name for text in texts for name in _FUNCTION.findall(text)]


def _read(name: str) -> str:
    return _SQL.joinpath(f"{name}.sql").read_text(encoding="utf-8")
