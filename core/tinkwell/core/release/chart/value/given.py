"""The values that a user gave, part by part, so that `origin` can name the part a value is from."""

from dataclasses import dataclass

from tinkwell.core.value.document import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Values that a user gave in one file or flag; `name` is its name, such as `prod.yaml` or `--set`.

    `text` is the YAML of a file, from which line numbers are found; "" for a flag.
    """

    name: str
    values: JsonObject
    text: str = ""
    is_secret: bool = False
