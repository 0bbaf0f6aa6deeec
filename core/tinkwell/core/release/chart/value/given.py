"""Values as a user gave them, part by part, so that `origin` can say from which part a value is."""

from dataclasses import dataclass

from tinkwell.core.value.document import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Values that a user gave in one file or flag, which is called `name`, such as `prod.yaml` or `--set`.

    `text` is the YAML of a file, by which lines are told; empty for a flag.
    """

    name: str
    values: JsonObject
    text: str = ""
    is_secret: bool = False
