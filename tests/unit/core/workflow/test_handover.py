"""When the document of a workflow may still be on its way."""

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import handover


@dataclass(frozen=True)
class Ended:
    worker_id: str = "m-1"
    task_name: str = "t"
    name: str = "a"
    state: State = State.SUCCEEDED
    exit_code: int | None = None
    reboots: bool = False


@pytest.mark.parametrize(
    ("change", "may_come"),
    [
        ({}, True),
        ({"worker_id": "m-2"}, False),
        ({"exit_code": 0}, False),
        ({"state": State.PENDING}, False),
        ({"reboots": True}, False),
    ],
)
def test_it_may_come_from_a_worker_of_tinkerbells_on_another_machine(change: dict[str, Any], may_come: bool) -> None:
    assert handover.may_come(replace(Ended(), **change), worker_id="m-2") is may_come


@pytest.mark.parametrize(
    ("told", "is_from"),
    [
        ({"taskName": "t", "actionName": "a", "workerID": "m-1"}, True),
        ({"taskName": "t", "actionName": "b"}, False),
        ({}, False),
        ([], False),
        (None, False),
    ],
)
def test_metadata_name_who_has_handed_a_document_on(told: object, is_from: bool) -> None:
    assert handover.is_from(json.dumps(told), Ended()) is is_from


def test_what_is_no_json_names_nobody() -> None:
    assert not handover.is_from(b"", Ended())
    assert not handover.is_from(b"\xff", Ended())
