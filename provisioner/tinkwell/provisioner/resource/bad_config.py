"""Makes configs that a type should refuse from a config that it accepts."""

from collections.abc import Iterator

from tinkwell.core.value.document import JsonObject, JsonValue

# A name that no type has.
UNKNOWN = "no_such_field"


def of(config: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the name of each bad config, and the bad config."""
    yield f"the unknown field {UNKNOWN}", {**config, UNKNOWN: True}
    for key, value in config.items():
        yield f"{key} as {_word(value)}", {**config, key: _other(value)}
    if config:
        yield "a config without any field", {}


def _other(value: JsonValue) -> JsonValue:
    """Return a value of another type."""
    return 4711 if isinstance(value, list | str | bool) or value is None else [] if isinstance(value, dict) else {}


def _word(value: JsonValue) -> str:
    other = _other(value)
    return "a number" if isinstance(other, int) else "a list" if isinstance(other, list) else "an object"
