"""Makes the files that a charm of ops reads out of charmcraft.yaml, which it does not read itself.

What a packed charm has as metadata.yaml, config.yaml and actions.yaml stands in one file in the source of a charm.
Files that are there already are left as they are.
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

# What says how the charm is built, and is in none of the three files.
_BUILD = frozenset(
    {"parts", "base", "bases", "build-base", "platforms", "type", "charm-libs", "charmhub", "analysis", "prime"}
)
# Characters that JSON writes as they are, and some readers of YAML refuse.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")


def split(text: str, *, there: Collection[str] = ()) -> Mapping[str, str]:
    """Return the texts of the files that are not `there`, by their names. Raises `errors.CharmRefused`."""
    value = _read(text)
    left_out = {*_BUILD, "config", "actions"}
    if value.get("type") not in (None, "charm"):
        left_out.remove("type")  # it is no charm, which whoever reads metadata.yaml is to find
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
    """Write JSON, which is YAML, and the same for all time."""
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
