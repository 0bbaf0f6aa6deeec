"""What the child process does, here in this one."""

from typing import Any

import pytest

from tinkwell.provisioner.release.schema import child


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
    answer: Any = child.handle({"path": "web.config", "schema": schema, "config": config}, pieces.append)
    assert [field for field, _ in answer["problems"]] == fields
    assert bool(answer["wrong_schema"]) is not is_schema
    assert pieces == ["web.config"]
