"""What the relay needs of a broker and of an election. `jetstream` and the store provide them; tests provide fakes."""

import dataclasses
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class BrokerLost(Exception):
    """The broker is out of reach, or has not answered in time; another session can be opened."""


class Refused(Exception):
    """The stream does not end where this publisher believed: another one has published, and this one steps down."""


@dataclasses.dataclass(frozen=True, slots=True)
class Letter:
    """All that a history holds above revision `after`, up to and including `through`.

    It speaks of its history alone, so it is as true out of place as in place, from whomever and however often it came:
    where it belongs is decided by its revisions. `payload` is what `envelope` makes of the events; None when they are
    too large for a message and must be read from the log. Equal revisions make a sign of life.
    """

    history_id: str
    after: int
    through: int
    payload: bytes | None


@dataclasses.dataclass(frozen=True, slots=True)
class Delivery:
    """A message of the stream; the letter is None where the message is not one of ours."""

    sequence: int
    letter: Letter | None


class Feed(Protocol):
    """Messages of the stream in its order, without gaps but those of the stream itself."""

    async def next(self, timeout_seconds: float) -> Delivery | None:
        """Return the next message, None when there is none within the time. Raises `BrokerLost`."""


class Session(Protocol):
    """One connection to the broker. Everything raises `BrokerLost`."""

    @property
    def payload_bytes(self) -> int:
        """The largest payload that a letter may have."""

    async def last(self) -> Delivery:
        """Return the stream's last message; its sequence is known even where the message is no longer kept."""

    async def publish(self, letter: Letter, *, expected: int) -> int:
        """Store the letter behind the message `expected`, and return its sequence.

        Raises `Refused` when another message is the last one. After `BrokerLost` it may have been stored or not, and
        may still be.
        """

    def feed(self, *, after: int | None) -> AbstractAsyncContextManager[Feed]:
        """Follow the stream from behind that message, or from now on."""


class Broker(Protocol):
    """Where the stream is kept."""

    def session(self) -> AbstractAsyncContextManager[Session]:
        """Connect, and make sure that there is a stream. Raises `BrokerLost`."""


class Leadership(Protocol):
    """The task of publishing, as long as it is ours."""

    async def confirm(self) -> bool:
        """Return whether it is still ours. To be called every few seconds, or it is given to another."""


class Election(Protocol):
    """Lets one server publish at a time, mostly. That the stream stays in order does not depend on it."""

    def stand(self) -> AbstractAsyncContextManager[Leadership | None]:
        """Ask for the task for as long as the block lasts; None while another server has it.

        Raises `tinkwell.core.event.page.SourceLost` when nobody can be asked.
        """
