"""Sensitive places of manifests: what is secret there, and what is only kept from sight."""

import pytest

from tinkwell.core import errors
from tinkwell.core.release import sensitive
from tinkwell.core.release.sensitive import Places
from tinkwell.core.value.document import JsonObject


def manifest(config: JsonObject, *pointers: str, path: str = "db") -> JsonObject:
    return {"resources": {path: {"type": "acme/db", "config": config, "sensitive": [*pointers]}}}


CONFIG: JsonObject = {"a": "secret 1", "b": {"c": ["secret 2", "{{ x }}", 7], "d": "{{ y }}"}, "e~/": "secret 3"}


def test_what_stands_at_a_pointer_is_secret_unless_it_is_still_an_expression() -> None:
    found = sensitive.of_written(manifest(CONFIG, "/a", "/b/d", "/e~0~1"))
    assert found == Places(("/resources/db/config/a", "/resources/db/config/e~0~1"), ("/resources/db/config/b/d",))


def test_of_what_has_expressions_within_the_rest_is_secret_by_itself() -> None:
    found = sensitive.of_written(manifest(CONFIG, "/b"))
    assert found.hidden == ("/resources/db/config/b",)
    assert found.secret == ("/resources/db/config/b/c/0", "/resources/db/config/b/c/2")
    assert sensitive.of_written(manifest(CONFIG, "")).hidden == ("/resources/db/config",)


def test_in_a_rendered_manifest_it_stands_beside_it_what_is_an_expression() -> None:
    late: JsonObject = {"resources": {"db": {"pointers": ["/b/c/1"]}, "other": {"pointers": ["/a"]}}}
    found = sensitive.of_rendered(manifest(CONFIG, "/a"), late, {"db": ["/b/c", "/b/d"], "absent": ["/x"]})
    assert found.hidden == ("/resources/db/config/b/c",)
    assert found.secret == (
        *("/resources/db/config/a", "/resources/db/config/b/c/0"),
        *("/resources/db/config/b/c/2", "/resources/db/config/b/d"),
    )


def test_places_of_paths_with_keys_are_written_as_pointers() -> None:
    assert sensitive.of_written(manifest({"a": "b"}, "/a", path="db[x/y]")).secret == ("/resources/db[x~1y]/config/a",)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"resources": None},
        {"resources": {"db": None}},
        {"resources": {"db": {"sensitive": "/a"}}},
        {"resources": {"db": {"sensitive": [7]}}},
    ],
)
def test_what_is_no_manifest_has_none(given: JsonObject) -> None:
    assert sensitive.of_written(given) == Places()
    assert sensitive.of_rendered(given, {"resources": [7]}, {}) == Places()


def test_a_pointer_to_nothing_leads_to_nothing_that_is_secret() -> None:
    found = sensitive.of_written(manifest(CONFIG, "/absent", "/b/c/7", "/b/c/01", "/a/b"))
    assert found.hidden == ()
    with pytest.raises(errors.InvalidField):
        sensitive.of_written(manifest(CONFIG, "absent"))


def test_whether_anything_is_named_is_known_without_a_look_at_configs() -> None:
    assert sensitive.is_named(manifest(CONFIG, "/a"))
    assert not sensitive.is_named(manifest(CONFIG))
    assert not sensitive.is_named({})
