"""Plans that come in parts, and what is wrong with them."""

from collections.abc import AsyncIterator, Iterable

import pytest

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.server.release.api import document_stream

HEAD = pb.SubmitPlanRequest(head=pb.SubmitPlanHead(operation_id="o", lease_token=7))
MIB = "x" * (1024 * 1024)


def part(name: str, text: str) -> pb.SubmitPlanRequest:
    return pb.SubmitPlanRequest(document=pb.DocumentPart(name=name, text=text))


class Stream:
    """Requests, and how many of them were read."""

    def __init__(self, requests: Iterable[pb.SubmitPlanRequest]) -> None:
        self._requests = iter(requests)
        self.read = 0
        self.has_ended = False

    async def _iterate(self) -> AsyncIterator[pb.SubmitPlanRequest]:
        for request in self._requests:
            self.read += 1
            yield request
        self.has_ended = True

    def __aiter__(self) -> AsyncIterator[pb.SubmitPlanRequest]:
        return self._iterate()


async def refusal(stream: Stream) -> str:
    with pytest.raises(errors.InvalidField) as caught:
        await document_stream.receive_plan(aiter(stream))
    return str(caught.value)


async def test_documents_are_put_together_from_their_parts() -> None:
    stream = Stream([HEAD, part("manifest", "{"), part("manifest", "}"), part("plan", "[]")])
    found = await document_stream.receive_plan(aiter(stream))
    assert (found.lease_token, found.manifest, found.late, found.plan) == (7, "{}", "", "[]")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ([part("manifest", MIB)] * 9, "manifest: has more than the 8,388,608 bytes that are allowed"),
        ([part("secret", "{}")], 'document.name: is "secret"; give manifest, late, plan'),
    ],
    ids=["large", "unknown"],
)
async def test_what_is_wrong_is_told_once_the_client_has_written_all(
    wrong: list[pb.SubmitPlanRequest], told: str
) -> None:
    stream = Stream([HEAD, *wrong, part("late", MIB), part("plan", "[]")])
    assert await refusal(stream) == told
    assert stream.has_ended


async def test_a_client_that_never_ends_is_refused_all_the_same() -> None:
    stream = Stream([HEAD, *[part("manifest", MIB)] * 100])
    assert "manifest: has more than" in await refusal(stream)
    assert not stream.has_ended
    assert stream.read <= 66


async def test_a_plan_is_missed_at_the_end() -> None:
    assert await refusal(Stream([HEAD, part("late", "{}")])) == "plan: is missing; the stream ends with it"
