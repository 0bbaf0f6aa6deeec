"""The page about manifests: its example is one, and it names each field and each thing that is refused."""

import re
from pathlib import Path

from tinkwell.core.charm import action, assumption, metadata, reader

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "charm.md").read_text()


def test_the_example_is_a_manifest_without_a_warning() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    found, warnings = metadata.read_manifest({"charm.yaml": text})
    assert not warnings
    assert len(found.endpoints) == 3


def test_each_field_is_named() -> None:
    for field in (*reader.FIELDS, *reader.ENDPOINT, *reader.STORAGE, *reader.OPTION, *reader.REFUSED, *reader.RESOURCE):
        assert field in PAGE


def test_each_word_of_a_schema_that_is_checked_is_named() -> None:
    for word in (*action.CHECKED, assumption.JUJU_VERSION):
        assert word in PAGE


def test_each_limit_is_named() -> None:
    for limit in (
        reader.MAX_ENDPOINTS,
        reader.MAX_STORAGES,
        reader.MAX_OPTIONS,
        reader.MAX_ACTIONS,
        reader.MAX_RESOURCES,
        reader.MAX_NAME_CHARACTERS,
    ):
        assert f"at most {limit:,}" in PAGE
