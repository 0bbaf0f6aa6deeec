"""Effects come out of an outcome file as they went in."""

import pytest

from tinkwell.client.unit import effect_json
from tinkwell.core.unit.effect import NO_EFFECTS, BagEdit, Effects, Notice, Port, StorageRequest
from tinkwell.core.unit.kinds import Owner

FULL = Effects(
    term=4,
    bags=(
        BagEdit(relation=7, owner=Owner.UNIT, edits={"a": "é", "b": None}),
        BagEdit(relation=7, owner=Owner.APPLICATION, edits={}),
    ),
    state={"step": None, "k": "v"},
    opened=(Port(protocol="tcp", number=80),),
    closed=(Port(protocol="icmp"),),
    storages=(StorageRequest(storage="data", count=2),),
    deferred=(Notice(ordinal=3, handler="database", event="{}"),),
    consumed=(Notice(ordinal=1, handler="install", event="{}"),),
)


@pytest.mark.parametrize("effects", [NO_EFFECTS, FULL], ids=["none", "all"])
def test_effects_are_read_as_they_were_written(effects: Effects) -> None:
    assert effect_json.decode(effect_json.encode(effects)) == effects


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", effect_json.encode(FULL).replace(b"UNIT", b"WHO")])
def test_what_are_no_effects_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):
        effect_json.decode(content)
