"""The SQL of the event log's hot paths, one file each in `sql/`."""

from importlib import resources


def _load(name: str) -> str:
    return resources.files(__package__).joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


PAGE = _load("page")
TAIL = _load("tail")
REPLAY = _load("replay")
HOLDERS = _load("holders")
WAITING = _load("waiting")
WHO = _load("who")
