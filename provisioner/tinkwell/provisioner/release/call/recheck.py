"""The message for a resource that is still STALE after its actions."""

from collections.abc import Sequence

from tinkwell.core.release.protocol.difference import difference
from tinkwell.core.value.document import JsonObject

SHOWN_PATHS = 10


def explain(config: JsonObject, before: JsonObject | None, after: JsonObject | None) -> str:
    """Say how the state differs from the state before the actions, and from the config; None if it did not exist."""
    if after is None:
        return f"it is still STALE after its actions: it {'still ' if before is None else ''}does not exist"
    if before is None:
        changed = "it exists now"
    elif paths := [*difference(before, after), *difference(after, before)]:
        changed = f"they changed {_listed(list(dict.fromkeys(paths)))}"
    else:
        changed = "they changed nothing of its state"
    unlike = [path for path in difference(config, after) if path]
    where = f"; its state differs from its config at {_listed(unlike)}" if unlike else ""
    return f"it is still STALE after its actions: {changed}{where}"


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - SHOWN_PATHS} more" if len(paths) > SHOWN_PATHS else ""
    return ", ".join(path or "all of it" for path in paths[:SHOWN_PATHS]) + more
