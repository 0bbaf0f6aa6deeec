"""What images are told, and where states differ."""

import decimal
import json
from typing import Any

import pytest

from tinkwell.core.release.protocol.difference import difference
from tinkwell.core.release.protocol.request import Caller

CALLER = Caller(
    name="www_vm", type="acme/deployster-aws-vm", workspace="/workspace", release="shop", operation_id="op-1"
)
SEED = {"name": "www_vm", "type": "acme/deployster-aws-vm", "version": "18.0.0", "verbose": False}
INIT = {**SEED, "workspace": "/workspace", "protocol": 1, "release": "shop", "operation_id": "op-1"}
CONFIG = {"name": "www_vm", "zone": "europe-west1-b", "size": decimal.Decimal("1.10")}


def test_every_call_has_what_the_protocols_document_says_and_ours_beside_it() -> None:
    told = {**INIT, "config": {**CONFIG, "size": 1.1}}
    assert json.loads(CALLER.init()) == INIT
    assert json.loads(CALLER.state(CONFIG)) == told
    assert json.loads(CALLER.action(CONFIG, {"a": 1})) == {**told, "staleState": {"a": 1}}
    assert json.loads(CALLER.action(CONFIG, None)) == {**told, "staleState": {}}
    assert json.loads(CALLER.destroy(CONFIG, {"b": 1})) == {**told, "state": {"b": 1}}
    assert json.loads(CALLER.destroy(CONFIG, None)) == {**told, "state": {}}
    assert b'"size":1.10' in CALLER.state(CONFIG)


@pytest.mark.parametrize(
    ("desired", "found", "paths"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": 1}, {}, ["a"]),
        ({"a": {"b c": [1, {"d": 2}]}}, {"a": {"b c": [1, {"d": 3}]}}, ['a["b c"][1].d']),
        ({"a": [1, 2]}, {"a": [1]}, ["a"]),
        ({"a": [1]}, {"a": {"0": 1}}, ["a"]),
        ({"a": "1"}, {"a": 1}, ["a"]),
        ({"a": True}, {"a": 1}, ["a"]),
        ({"a": 0}, {"a": False}, ["a"]),
        ({"a": None}, {"a": {}}, ["a"]),
        ({"a": decimal.Decimal("1.0")}, {"a": 1}, []),
        ({"a": 1, "b": 2, "c": 3}, {"b": 2}, ["a", "c"]),
        ([], {}, [""]),
        ({}, {"a": 1}, []),
    ],
)
def test_a_difference_is_told_by_its_path(desired: Any, found: Any, paths: list[str]) -> None:
    assert difference(desired, found) == paths
