"""A letter as a message of the stream: what it says of itself is in the headers, its events are the payload."""

from collections.abc import Mapping

from nats.js import api

from tinkwell.server.log.relay.broker import Letter

_HISTORY = "Tinkwell-History"
_AFTER = "Tinkwell-After"
_THROUGH = "Tinkwell-Through"
_ENCLOSED = "Tinkwell-Enclosed"

# A node counts them into the size of a message; ours take about 250 bytes.
HEADER_BYTES = 1024


def headers_of(letter: Letter, *, expected: int) -> dict[str, str]:
    """Return the headers of a message that is to follow the message of that sequence, or to be the first."""
    return {
        _HISTORY: letter.history_id,
        _AFTER: str(letter.after),
        _THROUGH: str(letter.through),
        _ENCLOSED: "no" if letter.payload is None else "yes",
        # Older nodes do not compare a stream's sequence with 0, but they do so with a subject's.
        **(
            {api.Header.EXPECTED_LAST_SEQUENCE.value: str(expected)}
            if expected
            else {api.Header.EXPECTED_LAST_SUBJECT_SEQUENCE.value: "0"}
        ),
    }


def letter_of(headers: Mapping[str, str], payload: bytes) -> Letter | None:
    """Return the letter of a message; None when it is not one of ours."""
    try:
        is_enclosed = {"yes": True, "no": False}[headers[_ENCLOSED]]
        return Letter(
            history_id=headers[_HISTORY],
            after=int(headers[_AFTER]),
            through=int(headers[_THROUGH]),
            payload=payload if is_enclosed else None,
        )
    except (KeyError, ValueError):
        return None
