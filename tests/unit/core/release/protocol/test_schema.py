"""Schemas of images: which drafts, what they refuse, and what nobody can make them do."""

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.release.protocol.schema import Schema, WrongSchema


def violations(schema: dict[str, Any], value: Any) -> list[str]:
    try:
        Schema.compile(schema).check("web.config", value)
    except errors.InvalidField as error:
        return [f"{violation.field}: {violation.description}" for violation in error.violations]
    return []


def test_what_does_not_match_is_told_by_its_path_without_its_value() -> None:
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "a": {"properties": {"b": {"items": {"type": "integer"}}}},
            "c d": {"enum": ["x", "y"]},
            "name": {},
        },
        "additionalProperties": False,
    }
    assert violations(schema, {"name": 1, "a": {"b": [1, 2]}}) == []
    assert set(violations(schema, {"a": {"b": ["hunter2"]}, "c d": "hunter2", "e": 1})) == {
        'web.config.a.b[0]: the value is not of type "integer"',
        'web.config["c d"]: the value is not one of "x" or "y"',
        'web.config: "name" is a required property',
        "web.config: Additional properties are not allowed ('e' was unexpected)",
    }


def test_draft_4_is_meant_where_nothing_is_said() -> None:
    assert violations({"maximum": 5, "exclusiveMaximum": True}, 5) == [
        "web.config: the value is greater than or equal to the maximum of 5"
    ]
    with pytest.raises(WrongSchema):
        Schema.compile({"exclusiveMaximum": 5})


@pytest.mark.parametrize(
    "draft",
    [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ],
)
def test_another_draft_can_be_named(draft: str) -> None:
    later = "draft-04" not in draft
    schema = {"$schema": draft, "exclusiveMaximum": 5} if later else {"$schema": draft, "type": "string"}
    assert violations(schema, 5)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "strng"}, "at type: "),
        ({"properties": {"a": {"type": 5}}}, "at properties.a.type: "),
        ({"properties": []}, "at properties: "),
        ({"pattern": "(a"}, "at pattern: "),
        ({"pattern": "(?=a)b"}, "at pattern: "),
        ({"pattern": "(((a{100}){100}){100})"}, "at pattern: "),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "draft-03"),
        ({"$schema": 5}, ""),
        ({"$ref": "#/definitions/none"}, "/definitions/none"),
        ({"$ref": "file:///etc/passwd"}, "references may only lead to places within the schema"),
    ],
)
def test_what_is_no_schema_is_refused(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(WrongSchema) as caught:
        Schema.compile(schema)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/schema", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_nobody_is_asked_for_what_a_reference_names(listener: tuple[str, list[str]]) -> None:
    url, asked = listener
    schemas: list[dict[str, Any]] = [
        {"$ref": url},
        {"properties": {"a": {"$ref": f"{url}#/x"}}},
        {"$schema": url},
        {"id": url, "$ref": "x"},
    ]
    for schema in schemas:
        with pytest.raises(WrongSchema):
            Schema.compile(schema)
    assert asked == []


def test_references_within_a_schema_are_followed() -> None:
    schema = {"definitions": {"tree": {"properties": {"left": {"$ref": "#/definitions/tree"}}, "required": ["n"]}}}
    schema["$ref"] = "#/definitions/tree"  # type: ignore[assignment]
    assert violations(schema, {"n": 1, "left": {"n": 1, "left": {}}}) == [
        'web.config.left.left: "n" is a required property'
    ]
    assert violations({"$ref": "#"}, {}) == []


def test_a_pattern_that_would_take_for_ever_elsewhere_does_not() -> None:
    assert len(violations({"properties": {"a": {"pattern": "^(a+)+$"}}}, {"a": "a" * 10_000 + "!"})) == 1


def test_formats_are_not_checked_as_they_never_were() -> None:
    assert violations({"format": "email"}, "x") == []


def test_messages_and_their_number_are_bounded() -> None:
    schema = {"additionalProperties": False, "properties": {"a": {"items": {"type": "integer"}}}}
    [told] = violations(schema, {"x" * 5_000: 1})
    assert len(told) < 350
    assert len(violations(schema, {"a": ["x"] * 500})) == 20
