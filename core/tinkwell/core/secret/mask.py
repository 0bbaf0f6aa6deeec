"""Masks: texts and documents for people, with `•••` in the place of secrets.

Data that is read back is sealed, not masked; see `document`.
"""

from collections.abc import Iterable

from tinkwell.core.secret import automaton
from tinkwell.core.secret import text as texts
from tinkwell.core.secret.automaton import Automaton, Range
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonValue

MASK = "•••"
# The end of a shortened text.
ELLIPSIS = "…"


class Masker:
    """Finds secrets in texts: as they are, escaped, in Base64 at any offset, and in URLs.

    Secrets that overlap or touch are masked as one. Other encodings, such as hexadecimal, are not recognised. Raises
    `errors.InvalidField` for secrets that are too short, too many or too long; see `text`.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        known = texts.texts_of(("", secret) for secret in secrets)
        self._automaton = Automaton(sorted(texts.forms(known)))

    def finds(self, text: str) -> bool:
        """Return whether a text contains a secret."""
        return bool(self._automaton.scan(text)[0])

    def mask(self, text: str) -> str:
        """Return the text without secrets."""
        ranges, _ = self._automaton.scan(text)
        return _masked(text, ranges, is_covered=False) if ranges else text

    def mask_excerpt(self, text: str) -> str:
        """Return the text without secrets; at an ellipsis also the beginning of a cut secret is masked."""
        *cut, end = self.mask(text).split(ELLIPSIS)
        return ELLIPSIS.join([*map(self._mask_cut, cut), end])

    def mask_json(self, value: JsonValue) -> JsonValue:
        """Return the value without secrets, also in keys; a number that contains a secret becomes a text."""
        match value:
            case str():
                return self.mask(value)
            case None | bool():
                return value
            case dict():
                return {self.mask(key): self.mask_json(item) for key, item in value.items()}
            case list():
                return [self.mask_json(item) for item in value]
            case _:
                return MASK if self.finds(document.dump_json(value)) else value

    def stream(self) -> "MaskedStream":
        """Begin a text that comes in pieces."""
        return MaskedStream(self._automaton)

    def _mask_cut(self, text: str) -> str:
        stream = self.stream()
        return stream.feed(text) + stream.cut()


class MaskedStream:
    """A text that comes in pieces, which may cut secrets anywhere; all results together equal `mask` of the whole text.

    A possible beginning of a secret is held back until the next piece: at most as much as the longest secret.
    """

    def __init__(self, finding: Automaton) -> None:
        self._automaton = finding
        self._state = 0
        self._held = ""
        # The parts of the held text that are certainly covered.
        self._ranges: list[Range] = []
        # Whether the last returned character was covered, so that its mask is already written.
        self._is_covered = False

    def feed(self, piece: str) -> str:
        """Add the next piece, and return the text that is certain."""
        begin = len(self._held)
        found, self._state = self._automaton.scan(piece, self._state)
        for first, end in found:
            automaton.cover(self._ranges, max(first + begin, 0), end + begin)
        self._held += piece
        # An unfinished pattern may have begun in the part that was cut off.
        return self._give(max(len(self._held) - self._automaton.open_characters(self._state), 0))

    def cut(self) -> str:
        """Return the held text, because the following text, though it belongs to the same one, is not shown after it.

        If it is long enough to be told from ordinary text, the held beginning of a secret is masked.
        """
        open_characters = self._automaton.open_characters(self._state)
        if max(open_characters, len(self._held.encode())) >= texts.MIN_BYTES:
            self._ranges = [(0, len(self._held))]
        rest = self._give(len(self._held))
        self._is_covered = False
        return rest

    def flush(self) -> str:
        """Return the held text, because the text ends here; another one may begin."""
        rest = self._give(len(self._held))
        self._state, self._is_covered = 0, False
        return rest

    def _give(self, count: int) -> str:
        if not count:
            return ""
        certain, self._held = self._held[:count], self._held[count:]
        ranges = [(first, min(end, count)) for first, end in self._ranges if first < count]
        self._ranges = [(max(first - count, 0), end - count) for first, end in self._ranges if end > count]
        masked = _masked(certain, ranges, is_covered=self._is_covered)
        self._is_covered = any(end == count for _, end in ranges)
        return masked


def _masked(text: str, ranges: Iterable[Range], *, is_covered: bool) -> str:
    """Replace ranges, which are in order; `is_covered`: a mask is directly before the text."""
    parts: list[str] = []
    place = 0
    for first, end in ranges:
        parts += (text[place:first], "" if is_covered and first == 0 else MASK)
        place = end
    parts.append(text[place:])
    return "".join(parts)
