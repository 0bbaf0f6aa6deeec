"""Numbers in the metadata of machines, out to the ends of what a double can hold."""

import decimal
import json
from typing import Any

import pytest

from support.edge import refused
from support.resource import Resources
from tinkwell.api.v1 import hardware_service_pb2 as pb

ID = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"
NUMBERS = '{"large": 1e308, "small": 5e-324, "less": -1.7976931348623157e308, "whole": 9223372036854775808, "no": -0.0}'


def request(metadata: str) -> pb.PushRequest:
    return pb.PushRequest(data=pb.Hardware(id=ID, metadata=metadata))


def exact(text: str) -> Any:
    return json.loads(text, parse_int=decimal.Decimal, parse_float=decimal.Decimal)


async def test_every_number_that_a_double_can_hold_is_stored_and_may_be_pushed_as_it_is_read(
    resources: Resources,
) -> None:
    await resources.hardware.Push(request(NUMBERS))
    found = await resources.hardware.ByID(pb.ByIDRequest(id=ID))
    assert exact(found.metadata) == exact(NUMBERS)
    again = await resources.hardware.Push(request(found.metadata))
    assert again.revision == 0


@pytest.mark.parametrize("number", ["1e309", "2e-324", "0e-20000", "1e-20000", "1" + "0" * 309])
async def test_a_number_beyond_is_refused_before_the_database_sees_it(resources: Resources, number: str) -> None:
    told = await refused(resources.hardware.Push(request(f'{{"v": {number}}}')))
    assert told.code.name == "INVALID_ARGUMENT"
    assert list(told.fields) == ["data.metadata.v"]
