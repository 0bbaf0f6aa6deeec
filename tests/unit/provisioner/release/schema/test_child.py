"""What the child process does, here in this one."""

from typing import Any

import pytest

from tinkwell.provisioner.release.schema import child


@pytest.mark.parametrize(
    ("schema", "config", "fields"),
    [
        ({"type": "object"}, {}, []),
        ({"type": "object"}, None, []),
        ({"properties": {"a": {"type": "string"}}}, {"a": 1}, ["web.config.a"]),
        ({"type": 7}, None, ["config_schema"]),
        ({"$ref": "http://example.com/x"}, None, ["config_schema"]),
    ],
)
def test_a_request_is_answered_with_what_is_wrong(schema: Any, config: Any, fields: list[str]) -> None:
    pieces: list[str] = []
    answer: Any = child.handle({"path": "web.config", "schema": schema, "config": config}, pieces.append)
    assert [field for field, _ in answer["problems"]] == fields
    assert pieces == ["web.config"]
