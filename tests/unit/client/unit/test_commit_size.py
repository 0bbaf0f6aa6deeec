"""What an event leaves is refused before it is sent where the server does not take it for its size."""

import pytest

from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.client import errors
from tinkwell.client.unit.agent import effect_message
from tinkwell.core.unit import limit

TEXT = "kanarienvogel" * 100_000


def secret(index: int) -> pb.SecretEdit:
    return pb.SecretEdit(id=str(index) * 20, add=pb.SecretChange(content={"password": TEXT}))


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        (pb.CommitEventRequest(effects=pb.Effects(secrets=map(secret, range(4)))), "secrets"),
        (
            pb.CommitEventRequest(
                effects=pb.Effects(
                    bags=[pb.BagEdit(relation=n, edits=[pb.KeyEdit(key="a", value=TEXT)]) for n in (1, 2, 3, 4)]
                )
            ),
            "bags of relations",
        ),
        (
            pb.CommitEventRequest(effects=pb.Effects(state=[pb.KeyEdit(key=n, value=TEXT) for n in "abcd"])),
            "the unit's state",
        ),
        (pb.CommitEventRequest(task=pb.TaskOutcome(result=TEXT * 4)), "the task's result"),
    ],
)
def test_what_is_too_large_says_where_most_of_it_is_and_nothing_of_it(
    request_: pb.CommitEventRequest, where: str
) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        effect_message.check_size(request_)
    assert f"effects: are too large: {request_.ByteSize():,} bytes in all, and at most 4,194,304" in str(caught.value)
    assert f" bytes, is in {where}: write less there" in str(caught.value)
    assert "kanarienvogel" not in str(caught.value)


def test_what_is_just_as_large_as_the_server_takes_is_sent() -> None:
    request = pb.CommitEventRequest(event_id="1")
    request.task.result = "x" * (limit.COMMIT_BYTES - 20)
    request.event_id = "1" * (1 + limit.COMMIT_BYTES - request.ByteSize())
    assert request.ByteSize() == limit.COMMIT_BYTES
    effect_message.check_size(request)
    request.attempt = 1
    with pytest.raises(errors.InvalidField):
        effect_message.check_size(request)
