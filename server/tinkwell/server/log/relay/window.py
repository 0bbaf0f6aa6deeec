"""The latest part of the stream, held until what was read from the database reaches it. Pure."""

from collections import deque

from tinkwell.server.log.relay.broker import Letter

# What a letter costs beside its payload.
_OVERHEAD_BYTES = 500


class Window:
    """Letters that continue each other, the newest ones that fit; at least one."""

    def __init__(self, *, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._letters: deque[Letter] = deque()
        self._bytes = 0

    def add(self, letter: Letter) -> None:
        """Add the stream's next letter. One that does not continue those before it replaces them."""
        last = self._letters[-1] if self._letters else letter
        if letter.history_id != last.history_id or letter.after > last.through:
            self.clear()
        self._letters.append(letter)
        self._bytes += _size(letter)
        while self._bytes > self._limit and len(self._letters) > 1:
            self._bytes -= _size(self._letters.popleft())

    def clear(self) -> None:
        """Forget all of it."""
        self._letters.clear()
        self._bytes = 0

    def joins(self, *, history_id: str, released: int) -> bool:
        """Return whether one who has all of the history up to the revision can go on with these letters."""
        while len(self._letters) > 1 and self._letters[0].through <= released:
            self._bytes -= _size(self._letters.popleft())
        return bool(self._letters) and self._letters[0].history_id == history_id and self._letters[0].after <= released

    def take(self) -> list[Letter]:
        """Return the letters, and forget them."""
        taken = list(self._letters)
        self.clear()
        return taken


def _size(letter: Letter) -> int:
    return _OVERHEAD_BYTES + len(letter.payload or b"")
