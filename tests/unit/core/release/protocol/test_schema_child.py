"""What the child process does, here in this one."""

from typing import Any

import pytest

from tinkwell.core.release.protocol import schema_child


@pytest.mark.parametrize(
    ("schema", "config", "fields", "is_schema"),
    [
        ({"type": "object"}, {}, [], True),
        ({"type": "object"}, None, [], True),
        ({"properties": {"a": {"type": "string"}}}, {"a": 1}, ["web.config.a"], True),
        ({"type": 7}, None, [], False),
        ({"$ref": "http://example.com/x"}, None, [], False),
    ],
)
def test_a_request_is_answered_with_what_is_wrong(schema: Any, config: Any, fields: list[str], is_schema: bool) -> None:
    pieces: list[str] = []
    answer: Any = schema_child.handle({"path": "web.config", "schema": schema, "config": config}, pieces.append)
    assert [field for field, _ in answer["problems"]] == fields
    assert bool(answer["wrong_schema"]) is not is_schema
    assert pieces == ["web.config"]


def test_what_is_marked_as_write_only_is_named_where_that_is_asked_for() -> None:
    schema: Any = {
        "properties": {
            "password": {"writeOnly": True},
            "users": {"items": {"properties": {"token": {"$ref": "#/definitions/secret"}}}},
            "size": {"type": "integer"},
        },
        "definitions": {"secret": {"type": "string", "writeOnly": True}},
    }
    config: Any = {"password": "hunter22", "users": [{"token": "a"}, {"name": "b"}], "size": 3}
    asked = {"path": "values", "schema": schema, "config": config, "draft": "7", "write_only": True}
    answer: Any = schema_child.handle(asked, lambda _: None)
    assert answer["write_only"] == ("/password", "/users/0/token")
    answer = schema_child.handle(asked | {"config": config | {"size": "3"}}, lambda _: None)
    assert [field for field, _ in answer["problems"]] == ["values.size"]
    assert "write_only" not in answer


def test_a_schema_that_names_no_draft_is_of_the_one_that_is_asked_for() -> None:
    schema: Any = {"const": 1}
    request = {"path": "values", "schema": schema, "config": {}}
    answer: Any = schema_child.handle(request, lambda _: None)
    assert answer["problems"] == []
    answer = schema_child.handle(request | {"draft": "7"}, lambda _: None)
    assert [field for field, _ in answer["problems"]] == ["values"]
