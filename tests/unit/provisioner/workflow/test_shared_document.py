"""The document that a workflow's actions share: on its way to an action, and on its way from it."""

import hashlib
import itertools
import json

import pytest
from unit.provisioner.stage import Stage, action, said

from support.waiting import eventually
from tinkwell.client.testing.gate import ReceivedCall
from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import handover
from tinkwell.provisioner.workflow import shared_document

RUNNING, SUCCEEDED, FAILED = State.RUNNING, State.SUCCEEDED, State.FAILED
FOLDER = ("w", "m-1")


def versions(stage: Stage) -> list[bytes]:
    return [data for data, _ in stage.server.world.documents.get("w", [])]


async def test_an_action_finds_what_was_handed_on_and_hands_on_what_it_has_changed(stage: Stage) -> None:
    stage.server.add_workflow("w", action(), action("m-2"), action())
    await stage.operator.workflows.update_data("w", b'{"n": 1}')
    async with stage.provisioner():
        for index, worker in enumerate(("m-1", "m-2", "m-1")):
            await stage.run_of(f"w-{index}")
            assert json.loads(stage.files.documents["w", worker]) == {"n": index + 1}
            stage.files.documents["w", worker] = b'{"n": %d}' % (index + 2)
            await stage.finish(f"w-{index}")
        await stage.reaches("w", SUCCEEDED)
    assert versions(stage) == [b'{"n": %d}' % number for number in (1, 2, 3, 4)]
    about = json.loads(stage.server.world.documents["w"][-1][1])
    assert (about["workerID"], about["taskName"], about["actionName"]) == ("m-1", "task", "step")
    assert about["sha256"] == hashlib.sha256(b'{"n": 4}').hexdigest()


async def test_whoever_hears_of_a_success_finds_its_document(stage: Stage) -> None:
    order: list[str] = []

    async def note(call: ReceivedCall) -> None:
        if call.method in ("ReportActionStatus", "UpdateWorkflowData", "GetWorkflowData"):
            order.append(call.method)

    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        await stage.run_of("w-0")
        stage.server.on_call = note
        stage.files.documents[FOLDER] = b'{"n": 1}'
        await stage.finish("w-0")
        await stage.reaches("w", SUCCEEDED)
    # The first report makes sure that the run, and so its document, is still this provisioner's. A call whose answer
    # takes long is made again.
    assert [each for each, _ in itertools.groupby(order)] == [
        "ReportActionStatus",
        "UpdateWorkflowData",
        "ReportActionStatus",
    ]


async def test_where_nothing_is_shared_nothing_is_asked(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        for index in range(2):
            await stage.finish(f"w-{index}")
        await stage.reaches("w", SUCCEEDED)
    assert stage.files.documents[FOLDER] == b"{}"
    assert versions(stage) == []
    assert not stage.server.requests("GetWorkflowData")


@pytest.mark.parametrize("content", [b"", b"[1]", b"a disk's image", b"\0" * 100, b" {}"])
async def test_what_is_no_document_is_left_alone(stage: Stage, content: bytes) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        await stage.run_of("w-0")
        stage.files.documents[FOLDER] = content
        await stage.finish("w-0")
        await stage.reaches("w", SUCCEEDED)
    assert versions(stage) == ([content] if content.strip() == b"{}" else [])
    assert stage.server.rows["w"][0].message == "exited with code 0"


async def test_what_is_broken_is_told_and_not_handed_on(stage: Stage) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        await stage.run_of("w-0")
        stage.files.documents[FOLDER] = b'{"half": '
        await stage.finish("w-0")
        await stage.reaches("w", SUCCEEDED)
    assert versions(stage) == []
    assert stage.server.rows["w"][0].message == ("exited with code 0; its data is not handed on, for it is not JSON")


async def test_an_action_whose_document_is_refused_has_failed_and_says_why(stage: Stage) -> None:
    async def refuse(call: ReceivedCall) -> None:
        if call.method == "UpdateWorkflowData":
            raise errors.InvalidField.of("data", "has the key a twice")

    stage.server.on_call = refuse
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        await stage.run_of("w-0")
        stage.files.documents[FOLDER] = b'{"a": 1, "a": 2}'
        await stage.finish("w-0")
        await stage.reaches("w", FAILED)
        await stage.is_clear()
    failed = stage.server.rows["w"][0]
    assert failed.message == "its data cannot be handed on: data: has the key a twice"
    assert failed.exit_code == 0


async def test_a_document_that_is_too_large_fails_its_action(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_document, "MAX_BYTES", 10)
    async with stage.provisioner():
        stage.server.add_workflow("w", action(), action())
        await stage.run_of("w-0")
        stage.files.documents[FOLDER] = b'{"a": "xxxxxxxxxx"}'
        await stage.finish("w-0")
        await stage.reaches("w", FAILED)
    assert "more than the 10 bytes" in stage.server.rows["w"][0].message


async def test_an_action_that_fails_hands_nothing_on_and_its_next_attempt_begins_anew(stage: Stage) -> None:
    stage.server.add_workflow("w", action(retries=1, retry_delay_seconds=0))
    await stage.operator.workflows.update_data("w", b'{"n": 1}')
    async with stage.provisioner():
        await stage.run_of("w-0")
        stage.files.documents[FOLDER] = b'{"n": 2}'
        await stage.finish("w-0", 1)
        await stage.run_of("w-0", 2)
        assert stage.files.documents[FOLDER] == b'{"n": 1}'
        await stage.finish("w-0", attempt=2)
        await stage.reaches("w", SUCCEEDED)
    assert versions(stage) == [b'{"n": 1}']


@pytest.mark.parametrize(
    ("left", "found"), [(b'{"n": 7}', b"{}"), (b"a disk's image", b"a disk's image"), (b'{"half": ', b'{"half": ')]
)
async def test_an_attempt_does_not_find_the_document_that_a_failed_one_has_left_first(
    stage: Stage, left: bytes, found: bytes
) -> None:
    async with stage.provisioner():
        stage.server.add_workflow("w", action(retries=1, retry_delay_seconds=0))
        await stage.run_of("w-0")
        stage.files.documents[FOLDER] = left
        await stage.finish("w-0", 1)
        await stage.run_of("w-0", 2)
        assert stage.files.documents[FOLDER] == found


async def test_a_successor_hands_on_what_a_run_that_it_adopts_has_changed(stage: Stage) -> None:
    stage.server.add_workflow("w", action(), action())
    await stage.operator.workflows.update_data("w", b'{"n": 1}')
    async with stage.provisioner():
        await stage.run_of("w-0")
    stage.files.documents[FOLDER] = b'{"n": 2}'
    async with stage.provisioner():
        await stage.finish("w-0")
        await stage.run_of("w-1")
    async with stage.provisioner():
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
    # The second one has changed nothing.
    assert versions(stage) == [b'{"n": 1}', b'{"n": 2}']


async def test_a_former_owner_does_not_overwrite_the_document_of_who_has_taken_over(stage: Stage) -> None:
    stage.server.add_workflow("w", action())
    async with stage.provisioner():
        await stage.run_of("w-0")
        heir = await stage.operator.work.acquire("another", "engine")
        stage.server.leases.expire("owner/0")
        await stage.report("w-0", "m-1", RUNNING, lease_token=heir.token)
        stage.files.documents[FOLDER] = b'{"n": "stale"}'
        await stage.finish("w-0")
        await eventually(lambda: ("w-0", SUCCEEDED) in map(said, stage.server.calls))
    assert versions(stage) == []


async def test_an_action_that_cannot_have_its_document_does_not_run_without(stage: Stage) -> None:
    stage.server.add_workflow("w", action())
    await stage.operator.workflows.update_data("w", b'{"n": 1}')
    stage.files.is_full = True
    async with stage.provisioner():
        await stage.reaches("w", FAILED)
    assert stage.server.rows["w"][0].message == "the data of its workflow cannot be written: No space left on device"


async def test_an_action_for_which_nobody_has_left_anything_runs_without(stage: Stage) -> None:
    stage.files.is_full = True
    async with stage.provisioner():
        stage.server.add_workflow("w", action())
        await stage.finish("w-0")
        await stage.reaches("w", SUCCEEDED)


async def test_what_a_worker_of_tinkerbells_hands_on_after_its_success_is_waited_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "SETTLING_SECONDS", 60.0)
    stage.server.add_workflow("w", action("other"), action())
    about = json.dumps({"workerID": "other", "taskName": "task", "actionName": "step"}).encode()
    async with stage.provisioner(serves={"m-1"}):
        for state in (RUNNING, SUCCEEDED):
            await stage.report("w-0", "other", state)
        await eventually(lambda: len(stage.server.requests("GetWorkflowMetadata")) > 1)
        assert stage.server.states("w") == [SUCCEEDED, RUNNING]
        assert not stage.world.runs
        await stage.operator.workflows.update_data("w", b'{"n": 1}', about)
        await stage.run_of("w-1")
    assert stage.files.documents[FOLDER] == b'{"n": 1}'


async def test_it_is_not_waited_for_any_longer_than_a_moment(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "SETTLING_SECONDS", 0.01)
    stage.server.add_workflow("w", action("other"), action())
    async with stage.provisioner(serves={"m-1"}):
        for state in (RUNNING, SUCCEEDED):
            await stage.report("w-0", "other", state)
        await stage.finish("w-1")
        await stage.reaches("w", SUCCEEDED)
    assert stage.files.documents[FOLDER] == b"{}"
