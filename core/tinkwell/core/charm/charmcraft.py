"""Makes the files that a charm of ops reads from charmcraft.yaml, which ops does not read itself.

charmcraft.yaml in a charm's source has the contents of a packed charm's metadata.yaml, config.yaml and actions.yaml.
Files that exist already are left as they are.
"""

import decimal
import json
import re
from collections.abc import Collection, Mapping

from tinkwell.core import errors
from tinkwell.core.value import check
from tinkwell.core.value.document import MAX_VIOLATIONS, JsonObject, JsonValue
from tinkwell.core.value.yaml import file as yaml_file

CHARMCRAFT_YAML = "charmcraft.yaml"
METADATA_YAML = "metadata.yaml"
CONFIG_YAML = "config.yaml"
ACTIONS_YAML = "actions.yaml"

# Keys that say how the charm is built; they belong to none of the three files.
_BUILD = frozenset(
    {"parts", "base", "bases", "build-base", "platforms", "type", "charm-libs", "charmhub", "analysis", "prime"}
)
# Characters that JSON writes unescaped, but some YAML readers refuse.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")


def split(text: str, *, there: Collection[str] = ()) -> Mapping[str, str]:
    """Return the texts of the files that are not in `there`, by their names. Raises `errors.CharmRefused`."""
    value = _read(text)
    left_out = {*_BUILD, "config", "actions"}
    if value.get("type") not in (None, "charm"):
        left_out.remove("type")  # not a charm: the reader of metadata.yaml reports it
    metadata: JsonObject = {key: each for key, each in value.items() if key not in left_out}
    made = {METADATA_YAML: metadata, CONFIG_YAML: value.get("config"), ACTIONS_YAML: value.get("actions")}
    return {name: _write(each) for name, each in made.items() if each and name not in there}


def _read(text: str) -> JsonObject:
    checks = check.Checks(most=MAX_VIOLATIONS)
    try:
        documents = list(yaml_file.documents(checks, CHARMCRAFT_YAML, text))
        checks.finish()
    except errors.InvalidField as error:
        raise errors.CharmRefused(error.violations) from error
    value = documents[0].value if len(documents) == 1 else None
    if not isinstance(value, dict):
        raise errors.CharmRefused.of(CHARMCRAFT_YAML, "must be one object with the name of the charm in it")
    return value


def _write(value: JsonValue) -> str:
    """Write a value as JSON, which is also YAML, always with the same bytes."""
    text = json.dumps(_plain(value), ensure_ascii=False, indent=2)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _plain(value: JsonValue) -> object:
    match value:
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case decimal.Decimal():
            return float(value)
        case _:
            return value
